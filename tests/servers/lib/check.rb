# A check: the requests to one endpoint of a server, the results that they must have, and curl's results for them.
module Servers
  # The exception of a check when the gem did not do what it promises.
  class Failed < StandardError; end

  # One column of the table, made by Servers.check. `needs` are the endpoints or abilities that the check requires.
  class Check
    attr_reader :name, :meaning, :needs, :limit

    def initialize(name, meaning, needs:, limit:, like_curl:, &body)
      @name, @meaning, @needs, @limit, @like_curl, @body = name, meaning, Array(needs), limit, like_curl, body
    end

    # Whether the server has what the check needs.
    def for?(server) = needs.all? { |need| server.supports?(need) } && !server.class.left_out.key?(name)

    # Runs it; returns a short note or nil. Raises Failed, or what the gem raised.
    def call(server) = Timeout.timeout(limit) { Context.new(server).instance_exec(server, &@body) }

    # curl's result after the gem failed: :alike, :better, or nil when curl has no such request.
    def curl(server)
      return unless @like_curl

      Timeout.timeout(limit) { Context.new(server).instance_exec(server, &@like_curl) ? :better : :alike }
    rescue Timeout::Error
      :alike
    end
  end

  # The object that evaluates the body of a check. Its methods fail with a message that names the difference.
  class Context
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

    # Fails with the counted kinds of failures, unless there are none.
    def none_failed(failures, count)
      return if failures.empty?

      kinds = failures.map { |failure| Context.kind(failure) }.tally.map { |kind, times| "#{times} × #{kind}" }
      raise Failed, "#{failures.size} of #{count} failed: #{kinds.first(3).join("; ")}"
    end

    # Runs this many threads, each with its number, and raises the first exception of a thread.
    def threads(count, &block)
      Array.new(count) { |at| Thread.new(at, &block).tap { |thread| thread.report_on_exception = false } }.map(&:value)
    end

    # The re-sends among the attempts of these responses.
    def resent(responses) = responses.sum { |response| response.attempts.count { |attempt| attempt.ending == :resent } }

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    # A failure's message without the numbers and URLs that differ each time.
    def self.kind(failure)
      return failure.to_s unless failure.is_a?(Exception)

      attempts = failure.is_a?(Hecaton::Error) ? failure.attempts : []
      resent = "after a re-send: " if attempts.any? { |attempt| attempt.ending == :resent }
      text = "#{failure.class.name.delete_prefix("Hecaton::")} #{resent}#{failure.message}"
      text.gsub(%r{https?://\S+}, "URL").gsub(/after [\d.]+(µs|ms|s)/, "after T")
        .gsub(/\d+(\.\d+)?/, "N")[0, 160]
    end

    private

    def short(value) = value.inspect.then { |text| text.size > 120 ? "#{text[0, 117]}…" : text }
  end

  # The endpoints of checks that are the same for each version of HTTP, and what their names end in.
  BY_VERSION = [[:clear, ""], [:h2, "/2"], [:h3, "/3"]].freeze

  class << self
    def checks = @checks ||= []

    # The version of HTTP in the meaning of a check whose name ends so.
    def over(suffix) = (" over HTTP#{suffix}" unless suffix.empty?)

    # Adds a check, limited to `limit` seconds. Its `needs` are endpoints by name, :reload, or another ability of the
    # server. The block like_curl is true when curl succeeds. It is called only after the gem failed.
    def check(name, meaning, needs: :clear, limit: 45, like_curl: nil, &body)
      checks << Check.new(name, meaning, needs: needs, limit: limit, like_curl: like_curl, &body)
    end
  end
end
