# Ractors: outcomes can be handed to them, and what they cannot do is refused in a sentence.
require "test_helper"
require "open3"
require "tmpdir"

class RactorTest < ServerTest
  # The output of a process of its own: Ractors change how the whole process runs.
  def printed(code)
    lib = File.expand_path("../lib", __dir__)
    output, status = Open3.capture2e(RbConfig.ruby, "-W0", "-I#{lib}",
      "-rhecaton", "-e", "Thread.report_on_exception = false\n#{code}", url("/echo"))
    assert_predicate status, :success?, output
    output
  end

  def test_outcomes_can_be_handed_over
    assert_equal "[200, \"GET\", 1]\nHecaton::ConnectError\n", printed(<<~'RUBY')
      client = Hecaton::Client.new(timeout: 10, proxy: false)
      response = Ractor.make_shareable(client.get(ARGV.first))
      p Ractor.new(response) { |response| [response.status, response.http_method, response.attempts.size] }.take
      error = Ractor.make_shareable(client.get_all(["http://127.0.0.1:1/"]).first)
      p Ractor.new(error) { |error| error.class }.take
    RUBY
  end

  # Whatever they read, decode and load, in a Ractor that has seen nothing of it before.
  def test_every_method_of_an_outcome_works_where_it_was_handed
    Dir.mktmpdir do |folder|
      tls = TestServer.new("--tls", "--tls-ca-out", "#{folder}/ca.pem")
      assert_equal ["43 methods or more", "true", "a=1", "[1]"], printed(<<~RUBY).lines(chomp: true)
        require "socket"
        server = TCPServer.new("127.0.0.1", 0)
        Thread.new do
          peer = server.accept
          peer.gets("\\r\\n\\r\\n")
          peer.write("HTTP/1.1 200 OK\\r\\n", "set-cookie: a=1\\r\\n", "link: </next>; rel=next, </s>; rel=sunset\\r\\n",
            "sunset: Sun, 06 Nov 2044 08:49:37 GMT\\r\\n", "content-type: application/json; charset=utf-8\\r\\n", "content-length: 3\\r\\n\\r\\n[1]")
        end
        client = Hecaton::Client.new(timeout: 10, proxy: false, ca: "#{folder}/ca.pem")
        json = client.get("http://127.0.0.1:\#{server.addr[1]}/")
        secure = client.get("#{tls.url}/echo")
        failed = client.get_all(["http://127.0.0.1:1/"]).first
        mine = ->(object) { object.class.ancestors.select { |owner| owner.to_s.start_with?("Hecaton") } }
        called = [json, json.headers, secure, secure.attempts.last, secure.attempts.last.tls, secure.attempts.last.peer, failed].sum do |object|
          names = mine.(object).flat_map { |owner| owner.public_instance_methods(false) }.uniq
          names = names.select { |name| [0, -1].include?(object.method(name).arity) } - %i[raise_for_status fetch]
          names -= %i[parse json] if object.equal?(secure) # It is not JSON.
          Ractor.make_shareable(object)
          names.each do |name|
            Ractor.new(object, name) { |object, name| object.public_send(name, &(proc {} if name.start_with?("each"))); nil }.take
          rescue Ractor::RemoteError => error
            abort [object.class, name, error.cause.class, error.cause.message].join(" ")
          end
          names.size
        end
        puts called >= 43 ? "43 methods or more" : called
        puts Ractor.new(secure) { |secure| secure.attempts.last.tls.certificate.to_der == secure.attempts.last.tls.der.first }.take
        puts Ractor.new(json) { |json| json.cookies.first.then { |cookie| "\#{cookie.name}=\#{cookie.value}" } }.take
        Hecaton::MIME.register("text/upper", decode: ->(text) { text.upcase }) # Its code cannot be shared.
        puts Ractor.new(json) { |json| json.parse.inspect }.take
      RUBY
    ensure
      tls&.stop
    end
  end

  def test_no_request_is_sent_in_another_than_the_main_one
    reported = printed(<<~'RUBY')
      Hecaton.get(ARGV.first, timeout: 10)
      [true, false].each do |shared|
        Ractor.new(shared) { |shared| shared ? Hecaton.get("http://127.0.0.1:1/", timeout: 1) : Hecaton::Client.new(timeout: 1) }.take
      rescue Ractor::RemoteError => error
        puts "#{error.cause.class}: #{error.cause.message}"
      end
    RUBY
    assert_equal ["Ractor::UnsafeError: Hecaton sends requests in the main Ractor alone: " \
      "send them there, and hand over outcomes (Ractor.make_shareable)"] * 2,
      reported.lines(chomp: true)
  end
end
