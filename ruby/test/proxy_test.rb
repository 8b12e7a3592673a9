# Requests through proxies, from options and from the environment.
require "test_helper"
require "scripted"

class ProxyTest < ServerTest
  # An HTTP proxy that knows every name as this machine's, and writes down the heads it was sent.
  class Proxy
    include Listening

    attr_reader :heads, :port

    def initialize(status: 200)
      @heads = []
      @status = status
      @port = URI(listen).port
    end

    def url = "http://user:secret@127.0.0.1:#{port}"

    private

    def serve(client)
      @heads << (head = client.gets("\r\n\r\n") || return)
      method, target, = head.split
      there = TCPSocket.new("127.0.0.1", target[/:(\d+)/, 1]) if @status == 200
      if method == "CONNECT"
        client.write("HTTP/1.1 #{@status} x\r\n\r\n")
      elsif there
        there.write(head.sub(target, target[%r{\Ahttp://[^/]+(.*)\z}, 1]).sub("\r\n", "\r\nconnection: close\r\n"))
      else
        client.write("HTTP/1.1 #{@status} x\r\ncontent-length: 0\r\n\r\n")
      end
      splice(client, there) if there
    ensure
      there&.close
    end

    def splice(client, there)
      back = Thread.new { IO.copy_stream(there, client) && client.close_write }
      IO.copy_stream(client, there)
      there.close_write
      back.join
    rescue SystemCallError, IOError
      nil
    ensure
      back&.kill
    end
  end

  def setup = @proxies = []
  def teardown = @proxies.each(&:stop)
  def proxy(**options) = Proxy.new(**options).tap { |proxy| @proxies << proxy }
  def elsewhere(path, scheme: "http") = "#{scheme}://origin.invalid:#{URI(real_server.url).port}#{path}"

  def test_a_proxy_is_handed_http_requests
    proxy = proxy()
    assert_equal 200, client(proxy: proxy.url).get(elsewhere("/r/1")).status
    assert_match(%r{\AGET http://origin\.invalid:\d+/r/1 HTTP/1\.1\r\n}, proxy.heads.first)
    assert_includes proxy.heads.first, "Proxy-Authorization: Basic #{["user:secret"].pack("m0")}\r\n"
  end

  def test_what_a_proxy_refuses
    closed = proxy(status: 407)
    assert_equal 407, client(proxy: closed.url).get(elsewhere("/r/1")).status
    error = error_of(Hecaton::ConnectError) { client(proxy: closed.url).get(elsewhere("/r/1", scheme: "https")) }
    assert_match(/407/, error.message)
    refute_match(/secret/, error.message)
    assert_equal [:connect, false], [error.phase, error.sent?]
    assert_match(/\ACONNECT origin\.invalid:\d+ HTTP/, closed.heads.last)
  end

  def test_the_environment_names_proxies_and_exceptions
    proxy = proxy()
    with_environment("http_proxy" => proxy.url) do
      assert_equal 200, client.get(elsewhere("/r/1")).status
      assert_equal 1, proxy.heads.size
      assert_equal 200, client(proxy: false).get(url("/r/2")).status
      assert_equal 200, client(no_proxy: "other,127.0.0.1").get(url("/r/3")).status
      assert_equal 1, proxy.heads.size, "and none for those"
    end
    with_environment("http_proxy" => proxy.url, "no_proxy" => "127.0.0.0/8") do
      assert_equal 200, client.get(url("/r/4")).status
      assert_equal 1, proxy.heads.size
    end
  end

  def test_a_cgi_program_does_not_take_a_header_for_a_proxy
    proxy = proxy()
    with_environment("HTTP_PROXY" => proxy.url) { assert_equal 200, client.get(elsewhere("/r/1")).status }
    with_environment("HTTP_PROXY" => proxy.url, "REQUEST_METHOD" => "GET") do
      assert_equal 200, client.get(url("/r/2")).status
    end
    assert_equal 1, proxy.heads.size
  end

  def test_what_can_not_be_used_is_refused_at_once
    ["https://u%3a:secret@h/path", "socks4a://u:secret@h", "ftp://u:secret@h", "", true].each do |value|
      error = assert_raises(ArgumentError) { client(proxy: value) }
      assert_match(/proxy/, error.message)
      refute_match(/secret/, error.message)
    end
    with_environment("https_proxy" => "ftp://u:secret@h") do
      error = assert_raises(ArgumentError) { client }
      assert_match(/https_proxy/, error.message)
      refute_match(/secret/, error.message)
    end
  end

  private

  NAMES = %w[http_proxy https_proxy all_proxy no_proxy].flat_map { |name| [name, name.upcase] } << "REQUEST_METHOD"

  # The environment with these variables of proxies and no others.
  def with_environment(values)
    before = NAMES.to_h { |name| [name, ENV.fetch(name, nil)] }
    real_server.url # Started outside of it.
    ENV.update(NAMES.to_h { |name| [name, values[name]] })
    yield
  ensure
    ENV.update(before)
  end
end
