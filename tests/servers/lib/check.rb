# A check: the requests to one endpoint of a server, the results that they must have, and curl's results for them.
module Servers
  # The exception of a check when the gem did not do what it promises.
  class Failed < StandardError; end

  # One column of the table. Made by Servers.check; `needs` are the endpoints or abilities without which it says nothing.
  class Check
    attr_reader :name, :tells, :needs, :limit

    def initialize(name, tells, needs:, limit:, like_curl:, &body)
      @name, @tells, @needs, @limit, @like_curl, @body = name, tells, Array(needs), limit, like_curl, body
    end

    # Whether the server has what the check needs.
    def for?(server) = needs.all? { |need| server.offers?(need) } && !server.class.left_out.key?(name)

    # Runs it; returns a short note or nil. Raises Failed, or what the gem raised.
    def call(server) = Timeout.timeout(limit) { Asked.new(server).instance_exec(server, &@body) }

    # curl's result where the gem failed: :alike, :better, or nil when curl has no such request.
    def curl(server)
      return unless @like_curl

      Timeout.timeout(limit) { Asked.new(server).instance_exec(server, &@like_curl) ? :better : :alike }
    rescue Timeout::Error
      :alike
    end
  end

  # The object in which the body of a check is evaluated: methods that fail and name the difference.
  class Asked
    attr_reader :server

    def initialize(server) = @server = server

    def must(that, message) = that || raise(Failed, message)

    def same(expected, actual, what)
      must(expected == actual, "#{what}: #{short(actual)} instead of #{short(expected)}")
    end

    # The error of this class that the block raises.
    def error_of(*classes)
      got = yield
      got = got.respond_to?(:status) ? "status #{got.status}" : short(got)
      raise Failed, "#{got}, where #{classes.join(" or ")} was due"
    rescue *classes => error
      error
    end

    # None of the repeated requests failed; else the kinds of failures, counted.
    def none_failed(failures, asked)
      return if failures.empty?

      kinds = failures.map { |failure| Asked.kind(failure) }.tally.map { |kind, times| "#{times} × #{kind}" }
      raise Failed, "#{failures.size} of #{asked} failed: #{kinds.first(3).join("; ")}"
    end

    # So many threads, each given its number; the first exception of one is raised here.
    def threads(count, &block)
      Array.new(count) { |at| Thread.new(at, &block).tap { |thread| thread.report_on_exception = false } }.map(&:value)
    end

    # Moves among the attempts of these responses.
    def resent(responses) = responses.sum { |response| response.attempts.count { |attempt| attempt.ending == :resent } }

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    # A failure without what differs from one to the next.
    def self.kind(failure)
      return failure.to_s unless failure.is_a?(Exception)

      "#{failure.class.name.delete_prefix("Hecaton::")} #{failure.message}".gsub(%r{https?://\S+}, "URL").gsub(/after [\d.]+(µs|ms|s)/, "after T")
        .gsub(/\d+(\.\d+)?/, "N")[0, 160]
    end

    private

    def short(value) = value.inspect.then { |text| text.size > 120 ? "#{text[0, 117]}…" : text }
  end

  class << self
    def checks = @checks ||= []

    # Adds a check, limited to `limit` seconds. Its `needs` are endpoints by name, :reload, or another ability of the
    # server. The block like_curl is true when curl succeeds. It is called only after the gem failed.
    def check(name, tells, needs: :clear, limit: 45, like_curl: nil, &body)
      checks << Check.new(name, tells, needs: needs, limit: limit, like_curl: like_curl, &body)
    end
  end
end
