# The harness's side of every Ruby driver: replies to commands, hands out requests, verifies and counts responses.
require "json"
require_relative "calls"
require_relative "differing"
require_relative "pace"

module Kit
  HELLO = { proto: 2, runtime: "#{RUBY_ENGINE} #{RUBY_ENGINE_VERSION}",
            http: ["1.1"], tls: false, keepalive: [true], retries: "off",
            cores: 1, verify: %w[tail json none], sends: %w[fields], knows: %w[expect urls],
            methods: %w[GET HEAD POST PUT PATCH DELETE OPTIONS] }.freeze
  DECODING = [*HELLO[:verify], "gzip"].freeze # what a client that decodes says under `verify`
  EACH_REQUEST = [*HELLO[:knows], "id_field"].freeze # `knows` of a driver that takes header fields for each request

  # The settings of `prepare`.
  Job = Struct.new(:method, :url, :append_id, :concurrency, :keepalive, :verify, :timeout_ms, :ca, :fields, :body,
    :urls, :expect, :id_field, :http, keyword_init: true) do
    def initialize(...) = super.tap { extend(Differing) if differs? }
    # Whether each request has header fields of its own.
    def differs? = !id_field.nil?
    def timeout = timeout_ms / 1000.0
    def gzip? = verify == "gzip"
    def http2? = http == "2"

    # `fields` and `body` are files.
    def headers
      @headers ||= verify == "json" ? { "Accept" => "application/json" } : lines.to_h { |line| line.split(": ", 2) }
    end

    def content = @content ||= (File.binread(body) if body)
    # The URLs that take turns; nil for one.
    def mix = @mix ||= (File.readlines(urls, chomp: true) if urls)
    # The ranges of statuses that count as success; nil for the usual one.
    def successes = @successes ||= expect&.split(",")&.map { |range| Range.new(*range.split("-").map(&:to_i)) }
    private def lines = fields ? File.readlines(fields, chomp: true) : []
  end

  # One `go`. Threads that share it must take turns.
  class Round
    def initialize(job, first:, count:, lat_every:, **more)
      @url, @mix, @append_id, @successes = job.url, job.mix, job.append_id, job.successes
      @differing = job if job.differs?
      @json, @verified = job.verify == "json", job.verify != "none"
      @next, @end, @every, @untimed = first, first + count, lat_every, 0
      @first, @pace = first, (Pace.new(**more) if more[:rate])
      @done, @bytes, @sum, @errors, @latencies = 0, 0, 0, Hash.new(0), Hash.new(0)
    end

    # Whether requests are sent at a rate. Then `take` says when the request is due, and who sends it waits until then.
    def paced? = !@pace.nil?

    # The next URL, and when it was taken if it is to be timed; nil when all are taken.
    def take
      return if (id = @next) == @end

      @next = id + 1
      url = @append_id ? "#{@url}#{id}" : @differing ? @differing.take(id) : @mix ? @mix[id % @mix.size] : @url
      return [url, @pace.due(id - @first)] if @pace
      return [url, nil] if (@untimed -= 1) >= 0

      @untimed = @every - 1
      [url, now]
    end

    # Counts a response whose body has been read.
    def done(status, body, taken = nil)
      return failed("status #{status}") unless success?(status)

      @sum += @json ? value(JSON.parse(body)) : body.byteslice(-8, 8).hex if @verified
      @bytes += body.bytesize
      @done += 1
      @latencies[bucket((now - taken) / 1000)] += 1 if taken
    rescue JSON::ParserError, NoMethodError, TypeError # not JSON, or no check value in it
      failed("check value")
    end

    private def success?(status) = @successes ? @successes.any? { |range| range.cover?(status) } : status / 100 == 2

    # The check value of a document, plus the numbers of all its records.
    private def value(page) = page["token"].hex + page["records"].sum { |record| record["numbers"] }

    # Counts a failure: its kind in a few words, or its exception.
    def failed(kind)
      name, kind = kind.class.to_s, "#{kind.class}: #{kind.message}" if kind.is_a?(Exception)
      @first_error ||= kind.to_s.scrub
      @errors[name || kind.to_s] += 1
    end

    def reply = { done: @done, errors: @errors.values.sum, errors_by: @errors, first_error: @first_error, bytes: @bytes,
                  sum: @sum & 0xffffffff, lat_us: @latencies.to_a }
    private def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    # Microseconds to eight significant bits, rounded down.
    private def bucket(micros) = (shift = micros.bit_length - 8).positive? ? micros >> shift << shift : micros
  end

  # Replies to commands until `bye`. `driver.new(job)` gets ready, its `go(round)` sends a round, its `close` lets
  # go.
  def self.run(driver, **about)
    # The same program on another library.
    about[:name] = ARGV.last.delete_prefix("--as=") if ARGV.last&.start_with?("--as=")
    about[:paces] = driver.paces if driver.respond_to?(:paces)
    about[:name] = "jruby-#{about[:name]}" if RUBY_ENGINE == "jruby" # another row than the same client on Ruby
    trap("TERM") { exit!(0) } # on JRuby `exit` would wait for the next line
    out = $stdout.dup.tap { |stdout| stdout.sync = true }
    $stdout.reopen($stderr) # what a library prints must not stand between the responses
    while (line = $stdin.gets)
      command = JSON.parse(line, symbolize_names: true)
      out.puts(JSON.generate({ id: command[:id], **reply(command, driver, about) }))
      break if command[:cmd] == "bye"
    end
  end

  def self.reply(command, driver, about)
    case command[:cmd]
    when "hello" then { ok: true, **HELLO, calls: call_words, **about }
    when "prepare" then prepare(command, driver, HELLO.merge(about))
    when "go" then { ok: true, **Round.new(@job, **command).tap { |round| @driver.go(round) }.reply }
    when "call" then call_reply(command)
    when "bye" then { ok: true }
    else { ok: false, error: "unsupported", what: command[:cmd] }
    end
  rescue StandardError => error
    { ok: false, error: "failed", what: "#{error.class}: #{error.message}" }
  end

  def self.prepare(command, driver, about)
    return { ok: false, error: "unsupported", what: "keepalive" } unless about[:keepalive].include? command[:keepalive]

    @driver = @driver&.close && nil
    ENV["SSL_CERT_FILE"] = command[:ca] if command[:ca] # where OpenSSL and the gem look for whom to trust
    (@driver = driver.new(@job = Job.new(**command.slice(*Job.members)))) && { ok: true }
  end
end
