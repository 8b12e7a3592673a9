# Programs override methods of the objects that they get, change their values, and copy them.
require_relative "both"
require_relative "drop_in"
require "scripted"

class TyphoeusObjectsTest < DropInTest
  # Each prints the same with the original. Requests of a hydra end in any order, so what they print is sorted.
  CASES = {
    "a subclass overrides finish and execute_callbacks" => %q{
      klass = Class.new(Typhoeus::Request) do
        define_method(:finish) do |response, *rest|
          response.options[:response_body] = "finished"
          super(response, *rest)
        end
        define_method(:execute_callbacks) { response.options[:x] = "executed"; super() }
      end
      inherited = Class.new(klass)
      [klass, inherited].each do |each|
        [->(request) { request.run }, run].each do |way|
          request = each.new("#{url}/r/1")
          request.on_complete { |response| p [response.body, response.options[:x]] }
          way.call(request)
        end
        streamed = each.new("#{url}/r/1")
        streamed.on_headers { |response| p response.code }
        streamed.on_complete { |response| p [response.body, response.options[:x]] }
        run.call(streamed)
      end },
    "a finish that does not go on, and one that raises afterwards" => %q{
      seen = []
      klass = Class.new(Typhoeus::Request) do
        define_method(:finish) do |response, *|
          seen << response.code
          super(response) && raise("finish") if base_url.end_with?("1")
        end
      end
      hydra = Typhoeus::Hydra.new(max_concurrency: 1)
      3.times { |number|
        request = klass.new("#{url}/r/#{number}")
        request.on_complete { seen << number }
        hydra.queue(request)
      }
      2.times { p((hydra.run && nil rescue $!.message)) }
      p seen },
    "one request has its own finish" => %q{
      request = Typhoeus::Request.new("#{url}/r/1")
      def request.finish(response, *) = super.tap { p response.code }
      run.call(request)
      run.call(Typhoeus::Request.new("#{url}/r/1")) },
    "a subclass overrides add of a hydra" => %q{
      klass = Class.new(Typhoeus::Hydra) do
        def add(request)
          return super unless request.base_url.end_with?("3")

          request.finish(Typhoeus::Response.new(code: 299, mock: true))
          dequeue
        end
      end
      codes = []
      hydra = klass.new(max_concurrency: 2)
      6.times do |number|
        request = Typhoeus::Request.new("#{url}/r/#{number}")
        request.on_complete { |response| codes << [number, response.code] }
        hydra.queue(request)
      end
      2.times { hydra.run }
      p codes.sort
      one = Typhoeus::Hydra.new
      def one.add(request) = super.tap { p :added }
      one.queue(Typhoeus::Request.new("#{url}/r/1"))
      one.run },
    "a subclass has defaults of its own" => %q{
      klass = Class.new(Typhoeus::Request) do
        private

        def set_defaults
          super
          options[:headers]["X-Own"] ||= "1"
          options[:method] ||= :put
        end
      end
      [{}, { headers: { "X-Own" => "2" } }, { method: :post, body: "b" }].each do |options|
        request = klass.new("#{url}/echo", options)
        run.call(request)
        p request.options, JSON.parse(request.response.body).values_at("method", "body")
        p JSON.parse(request.response.body)["headers"].to_h.transform_keys(&:downcase)["x-own"]
      end },
    "ports as libcurl takes them" => %q{
      port = url[/\d+\z/]
      [port, port.to_i, 0, "0", ""].each { |value|
        p Typhoeus.get("#{url}/r/1", port: value).code
        p Typhoeus.get("#{url}/r/1", proxy: url, proxyport: value).code
      }
      p Typhoeus.get("http://127.0.0.1:1/r/1", port: port).code },
    "a proxy that makes no tunnel" => %q{
      p Typhoeus.get("https://127.0.0.1:1/", proxy: lengths, timeout: 20).return_code },
    "a subclass has another URL" => %q{
      klass = Class.new(Typhoeus::Request) { def base_url = "#{super}/echo" }
      [{}, { headers: { "A" => "b" } }, { method: :post, body: "b" }].each do |options|
        request = klass.new(url, options)
        run.call(request)
        p JSON.parse(request.response.body)["path"]
      end },
    "the String of the body" => %q{
      ["/r/1", "/echo", "/status/204"].each do |path|
        response = Typhoeus.get("#{url}#{path}")
        response.body.force_encoding("UTF-8")
        response.body << "more"
        p response.body.encoding, response.body[-4..], response.response_body.equal?(response.body),
          response.options[:response_body].equal?(response.body)
      end },
    "settings that come after the request" => %q{
      made = Array.new(2) { Typhoeus::Request.new("#{url}/echo") }
      Typhoeus::Config.user_agent = "later"
      Typhoeus::Config.verbose = false
      p made[0].options, made.map { |each| JSON.parse(each.run.body)["headers"].to_h.find { |k, _| k =~ /agent/i } }
      Typhoeus::Config.user_agent = nil },
    "copies of a request of a subclass" => %q{
      Tagged = Class.new(Typhoeus::Request) { attr_accessor :tag }
      request = Tagged.new("#{url}/r/1")
      request.tag = [1]
      request.on_complete { nil }
      run.call(request)
      copy = Marshal.load(Marshal.dump(request))
      p copy.tag, copy.on_complete, copy.hydra, copy.response.code, copy.response.request.equal?(copy), copy.run.code
      p Marshal.load(Marshal.dump(request.response)).request.tag },
    "subclasses with names of their own" => %q{
      names = %i[plan planned complete report text keep own made watched? answered? start started left take calls]
      variables = %w[plan known bare calls in_parts debug_info taken free running left body parts]
      klasses = [Typhoeus::Request, Typhoeus::Hydra].map do |base|
        Class.new(base) do
          names.each { |name| define_method(name) { |*| raise "own #{name}" } }
          define_method(:initialize) { |*given|
            super(*given)
            variables.each { |name| instance_variable_set("@#{name}", :own) }
          }
        end
      end
      [{}, { headers: { "A" => "b" } }, { method: :post, body: "b" }].each do |options|
        requests = Array.new(2) { klasses[0].new("#{url}/echo", options) }
        requests[0].on_headers { nil }
        hydra = klasses[1].new
        requests.each { |request| hydra.queue(request) }
        hydra.run
        p requests.map { |request| [request.response.code, request.run.code, request.options.size] }
      end },
    "one request that is under way twice" => %q{
      %i[on_headers on_progress].each do |name|
        request = Typhoeus::Request.new(twice)
        request.public_send(name) { nil }
        bodies = []
        request.on_complete { |response| bodies << response.body }
        hydra = Typhoeus::Hydra.new
        2.times { hydra.queue(request) }
        hydra.run
        p bodies.map { |body| [body.squeeze, body.size] }.sort
      end },
    "two equal Content-Lengths and callbacks of parts" => %q{
      request = Typhoeus::Request.new(lengths)
      codes = []
      request.on_headers { |response| codes << response.code }
      request.on_progress { |*given| codes << given.first(2) if given.size == 5 && given[1] == 2 }
      p request.run.body, codes.uniq.last },
    "a server that compresses only for what it knows" => %q{
      p Typhoeus.get(codings, accept_encoding: "").body.split(", ").sort },
    # The last, because the module stays.
    "a module before Request" => %q{
      klass = Class.new(Typhoeus::Request) { include(Module.new { def execute_callbacks = super.tap { p :included } }) }
      run.call(klass.new("#{url}/r/1"))
      Typhoeus::Request.prepend(Module.new { def finish(response, *) = super.tap { p [:prepended, response.code] } })
      run.call(Typhoeus::Request.new("#{url}/r/1")) }
  }.freeze
  PRELUDE = "def run = ->(request) { Typhoeus::Hydra.new.tap { |hydra| hydra.queue(request) }.run }\n".freeze

  # Answers with the number of the request, first half first, and ends the second response before the first.
  class Twice < Scripted
    private

    def serve(connection)
      number = count
      connection.gets("\r\n\r\n")
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n#{number * 500}")
      sleep(0.1) if number == "1"
      connection.write(number * 500)
    ensure
      connection.close
    end

    def count = (@counted ||= Queue.new.tap { |queue| 4.times { |at| queue << (at % 2 + 1).to_s } }).pop
  end

  def test_the_same_with_the_original
    lengths = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok"
    codings = ->(head) { Scripted.response(200, {}, head[/^accept-encoding: (.*?)\r$/i, 1]) }
    Scripted.run("/" => lengths, "/c" => codings) do |server|
      names = { url: TestServer.shared.url, lengths: server.url, codings: "#{server.url}/c" }
      compared = Both::LIBRARIES.keys.map { |library|
        Twice.run({}) { |twice| Both.run(library, CASES, prelude: PRELUDE, **names, twice: twice.url) }
      }
      compared[0].each { |name, output| assert_equal output, compared[1][name], name }
    end
  end

  # Other classes stay as quick as they are.
  def test_an_override_slows_down_its_own_class_alone
    klass = Class.new(Typhoeus::Request) { def finish(*) = super.itself }
    assert_includes klass.ancestors, Typhoeus::Request::Openly
    refute_includes Class.new(Typhoeus::Request) { attr_reader :tag }.ancestors, Typhoeus::Request::Openly
    refute_includes Typhoeus::Request.ancestors, Typhoeus::Request::Openly
    refute_includes Typhoeus::Hydra.ancestors, Typhoeus::Hydra::Openly
  end

  # As in hydra_test.rb, for the other way.
  def test_an_overridden_finish_is_called_once_wherever_run_is_left
    klass = Class.new(Typhoeus::Request) { def finish(*) = super.itself }
    hydras = Class.new(Typhoeus::Hydra) { def add(request) = super.itself }
    step = 0
    loop do
      called = Hash.new(0)
      hydra = hydras.new(max_concurrency: 2)
      3.times do |number|
        request = klass.new(url("/r/#{number}"), timeout: 20)
        request.on_complete { called[number] += 1 }
        hydra.queue(request)
      end
      left = left_at?(hydra, step)
      hydra.run
      assert_empty hydra.queued_requests, "step #{step}"
      assert_equal({ 0 => 1, 1 => 1, 2 => 1 }, called.sort.to_h, "step #{step}")
      break unless left

      step += 1
    end
    assert_operator step, :>, 50
  end

  # Runs a hydra, and raises before its line of this number; whether there was one.
  def left_at?(hydra, step)
    lines = 0
    trace = TracePoint.new(:line) do |point|
      raise IOError, "leave" if point.path.include?("/lib/hecaton/") && (lines += 1) == step + 1
    end
    trace.enable(target_thread: Thread.current) { hydra.run }
    false
  rescue IOError
    true
  end
end
