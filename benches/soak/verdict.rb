# Compares the counts of the loads with the servers' logs (ledgers).
require_relative "tally"

# Every request must have one outcome, and every attempt that was sent must have arrived, once.
#
# This also holds where connections end without notice. A re-sent request was sent twice. The server's log has its first
# attempt as `unprocessed`, because the test server reads until the client has seen the end.
class Verdict
  # If the machine stands still for longer than a client's timeout, the client gives up a response that the test server
  # has begun. More than this share of all responses is a fault.
  MOST_LATE = 0.0005
  GOOD = %w[good slow].freeze
  # An early response must not be lost because its request is still being sent.
  EARLY = "early"

  def initialize(loads, ledgers, watch, ended)
    @loads = loads
    @ledgers = ledgers
    @watch = watch
    @ended = ended
  end

  def faults
    return @faults if @faults

    @faults = @ended ? [] : hanging.map { |load| "the load #{load.name} did not end" }
    @loads.each { |load| @faults.concat(faults_of(load)) }
    @ledgers.each { |name, ledger| @faults.concat(faults_between(name, ledger)) }
    @faults.concat(@watch.faults)
  end

  def figures
    { requests: sum(@loads, &:ended).count, servers: @ledgers.to_h { |name, ledger| [name, server(name, ledger)] },
      loads: @loads.to_h { |load| [load.name, load.tally.outcomes.sort.to_h] } }.merge(@watch.figures)
  end

  private

  def hanging = @loads.reject { |load| load.join(0) }

  def faults_of(load)
    faults = load.tally.faults.map { |fault| "#{load.name}: #{fault}" }
    started, ended = load.tally.started, load.tally.ended
    unless started == ended
      faults << "#{load.name}: #{started.count} requests, #{ended.count} outcomes, not of the same ids"
    end
    faults << "#{load.name}: no request got a 200" if load.tally.outcomes["200"].zero?
    faults
  end

  def faults_between(name, ledger)
    faults = []
    sent, arrived = sent(name), arrived(ledger)
    unless sent == arrived
      faults << "#{name}: #{sent.count} attempts were sent, #{arrived.count} requests arrived, not of the same ids"
    end
    late = late(name, ledger)
    faults << "#{name}: #{late} good responses were given up" unless late.between?(0, sent.count * MOST_LATE)
    lost = early_lost(name, ledger)
    faults << "#{name}: #{lost} early responses were lost" unless lost.between?(0, sent.count * MOST_LATE)
    many = failures(name) > ledger["chaos"]["500"]["count"]
    faults << "#{name}: more attempts got a 500 than the server sent" if many
    faults
  end

  # Attempts that were sent, by id.
  def sent(name) = sum(of(name), &:sent)

  # Requests that arrived, by id.
  def arrived(ledger)
    ledger["chaos"].values.map { |dealt| Sum.new(*dealt.values_at("count", "ids", "squares")) }.sum(Sum.new)
  end

  # The number of good responses that no attempt got.
  def late(name, ledger)
    GOOD.sum { |kind| ledger["chaos"][kind]["count"] } - of(name).sum { |load| load.tally.status_count(200) }
  end

  # The number of early responses that no attempt got.
  def early_lost(name, ledger) = ledger["chaos"][EARLY]["count"] - of(name).sum { |load| load.tally.status_count(413) }

  def failures(name) = of(name).sum { |load| load.tally.status_count(500) }

  def server(name, ledger)
    { sent: sent(name).count, arrived: arrived(ledger).count, late: late(name, ledger),
      early_lost: early_lost(name, ledger), resent: resent(name), answered_500: failures(name),
      dealt: ledger["chaos"].transform_values { |dealt| dealt["count"] } }
      .merge(ledger.slice("connections", "tls_handshakes", "tls_resumed", "http2_connections", "aborted",
        "peak_in_flight"))
  end

  def resent(name) = of(name).sum { |load| load.tally.resent }
  def of(name) = @loads.select { |load| load.server == name }
  def sum(loads, &block) = loads.map { |load| block.call(load.tally) }.sum(Sum.new)
end
