# The command `call`: makes one call for an audit, with the client's own defaults, and reports its outcome.
require "digest"
require "json"
require "uri"

module Kit
  # The call to make. A client's block builds its client once for all calls of a case, by `client`.
  Call = Struct.new(:method, :url, :fields, :body, :timeout_ms, :follow, :ca, :verify, :http, :proxy, :hosts,
    :pool_size, :idle_ms, :environment, :keep) do
    def timeout = timeout_ms / 1000.0
    def idle_timeout = idle_ms && (idle_ms / 1000.0)
    # Calls that are made at once share it.
    def client = BUILDING.synchronize { keep[:client] ||= yield }
    # The client's own default, unless it was said whether redirects are to be followed.
    def redirects(most) = { nil => nil, true => most, false => 0 }[follow]
    # Host and port, with the addresses to use for them.
    def addresses = hosts && { "#{URI(url).host}:#{URI(url).port}" => hosts.split(",") }
  end
  BUILDING = Mutex.new
  # The words that this file implements: it closes the client, and makes calls from threads and from a child.
  OWN = %w[parallel fork close].freeze

  # Says which calls a client can make: the words, and a block that makes a call and returns the status and the body.
  def self.calls(*words, close: :close, &make)
    @calls = { words: words, make: make, close: close, keep: {} }
  end

  # The words, for `hello`.
  def self.call_words = @calls ? @calls[:words] : []

  # The reply to `call`.
  def self.call_reply(line)
    return { ok: false, error: "unsupported", what: "call" } unless @calls

    refused = line[:needs].split(",").find { |word| !@calls[:words].include?(word) }
    refused ? { ok: false, error: "unsupported", what: refused } : { ok: true, **outcome(line) }
  end

  def self.outcome(line)
    drop_client if line[:new_client] || line[:by] == "close"
    return { responses: 0, errors: 0, ms: 0 } if line[:by] == "close"

    call = call_of(line)
    from = Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond)
    claim =
      if line[:parallel] then at_once(line[:parallel], call)
      elsif line[:by] == "fork" then of_child(call)
      else claim_of(call)
      end
    { **claim, ms: Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond) - from }
  end

  def self.call_of(line)
    fields = URI.decode_www_form(line[:fields]).to_h
    body = line[:body] && URI.decode_www_form_component(line[:body])
    rest = line.values_at(:timeout_ms, :follow, :ca, :verify, :http, :proxy, :hosts, :pool_size, :idle_ms,
      :environment)
    URI.decode_www_form(line[:environment].to_s).each { |name, value| ENV[name] = value }
    Call.new(line[:method], line[:url], fields, body, *rest, @calls[:keep])
  end

  # Equal calls from as many threads.
  def self.at_once(count, call)
    claims = Array.new(count) { Thread.new { claim_of(call) } }.map(&:value)
    errors = claims.select { |claim| claim[:class] }
    { responses: count - errors.size, errors: errors.size, **errors.last.to_h }
  end

  # A call from a child of this process.
  def self.of_child(call)
    reader, writer = IO.pipe
    child = Process.fork do
      reader.close
      writer.write(JSON.generate(claim_of(call)))
      writer.close
      exit!(0)
    end
    writer.close
    text = reader.read
    Process.wait(child)
    return { class: "NoReply", text: "the child ended without a reply" } if text.empty?

    JSON.parse(text, symbolize_names: true)
  end

  def self.claim_of(call)
    status, body = @calls[:make].call(call)
    body = body.to_s.b
    { status: status, bytes: body.bytesize, sha256: Digest::SHA256.hexdigest(body) }
  rescue StandardError => error
    { class: error.class.name, text: error.message.b.inspect[1..-2][0, 500] }
  end

  # Closes the client; the next call makes a new one.
  def self.drop_client
    client = @calls[:keep].delete(:client)
    client.public_send(@calls[:close]) if client.respond_to?(@calls[:close])
  rescue StandardError
    nil # it may be closed already
  end

  private_class_method :outcome, :call_of, :at_once, :of_child, :claim_of
end
