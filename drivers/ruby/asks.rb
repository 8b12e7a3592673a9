# The command `ask`: makes one call for an audit, with the client's own defaults, and reports its outcome.
require "digest"
require "uri"

module Kit
  # The call to make. A client's block builds its client once for all calls of a case, by `client`.
  Call = Struct.new(:method, :url, :fields, :body, :timeout_ms, :follow, :keep) do
    def timeout = timeout_ms && (timeout_ms / 1000.0)
    def client = keep[:client] ||= yield
    # The client's own default, unless it was said whether redirects are to be followed.
    def redirects(most) = { nil => nil, true => most, false => 0 }[follow]
  end

  # Says which calls a client can make: the words, and a block that makes a call and returns the status and the body.
  def self.asks(*words, close: :close, &ask)
    @asks = { words: words, ask: ask, close: close, keep: {} }
  end

  # The reply to `ask`.
  def self.asked(line)
    return { ok: false, error: "unsupported", what: "ask" } unless @asks

    refused = line[:needs].split(",").find { |word| !@asks[:words].include?(word) }
    refused ? { ok: false, error: "unsupported", what: refused } : { ok: true, **outcome(line) }
  end

  def self.outcome(line)
    drop_client if line[:fresh]
    fields = URI.decode_www_form(line[:fields]).to_h
    body = line[:body] && URI.decode_www_form_component(line[:body])
    call = Call.new(line[:method], line[:url], fields, body, line[:timeout_ms], line[:follow], @asks[:keep])
    from = Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond)
    claim = claim_of(call)
    { **claim, ms: Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond) - from }
  end

  def self.claim_of(call)
    status, body = @asks[:ask].call(call)
    body = body.to_s.b
    { status: status, bytes: body.bytesize, sha256: Digest::SHA256.hexdigest(body) }
  rescue StandardError => error
    { class: error.class.name, text: error.message.b.inspect[1..-2][0, 500] }
  end

  def self.drop_client
    client = @asks[:keep].delete(:client)
    client.public_send(@asks[:close]) if client.respond_to?(@asks[:close])
  rescue StandardError
    nil # it may be closed already
  end

  private_class_method :outcome, :claim_of, :drop_client
end
