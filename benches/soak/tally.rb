# Counts requests by their ids without storing the ids: see Dealt in crates/test-server/src/round/chaos.rs.

# The number of ids, their sum, and the sum of their squares. If two Sums agree, they contain the same ids, equally
# often.
class Sum
  attr_reader :count, :ids, :squares

  def initialize(count = 0, ids = 0, squares = 0)
    @count = count
    @ids = ids
    @squares = squares
  end

  def add(id)
    @count += 1
    @ids += id
    @squares += id * id
  end

  def +(other) = Sum.new(count + other.count, ids + other.ids, squares + other.squares)

  # As the test server writes it.
  def to_h = { "count" => count, "ids" => ids % 2**64, "squares" => squares % 2**64 }

  def ==(other) = to_h == other.to_h
end

# The requests of one load and their outcomes.
class Tally
  attr_reader :started, :ended, :sent, :resent, :outcomes, :faults

  def initialize
    @started = Sum.new  # requests
    @ended = Sum.new    # outcomes: must be the same
    @sent = Sum.new     # attempts of which a byte was written: must be what arrived
    @resent = 0 # attempts that were re-sent; @sent counts them too if a byte was written
    @outcomes = Hash.new(0)
    @statuses = Hash.new(0)
    @faults = []
  end

  # The number of attempts that got this status.
  def status_count(status) = @statuses[status]

  def start(id) = @started.add(id)

  # The one outcome of a request: its status and body, or its error.
  def finish(id, attempts, status, size, error)
    @ended.add(id)
    @outcomes[error ? error.class.name : status.to_s] += 1
    attempts.each { |attempt| count(id, attempt) }
    fault("the response to #{id} has #{size} bytes") if status == 200 && error.nil? && size != Servers::BODY
    fault("#{id} has no attempt") if attempts.empty?
  end

  def fault(text)
    @faults << text if @faults.size < 20
  end

  private

  def count(id, attempt)
    @sent.add(id) if attempt.sent?
    @resent += 1 if attempt.ending == :resent
    @statuses[attempt.status] += 1 if attempt.ending == :status
  end
end
