# Proxies: those that Net::HTTP is given, and those of the environment as Net::HTTP reads it.
require_relative "support"

class NetHTTPProxyTest < NetHTTPTest
  # Responds to everything, and keeps the requests.
  def proxied(responses = {})
    Scripted.run(Hash.new(Scripted.response(200, {}, "by the proxy")).merge(responses)) do |server|
      uri = URI(server.url)
      yield uri.host, uri.port, server
    end
  end

  def environment(values)
    names = %w[http_proxy HTTP_PROXY no_proxy NO_PROXY https_proxy HTTPS_PROXY all_proxy ALL_PROXY]
    before = ENV.slice(*names)
    names.each { |name| ENV.delete(name) }
    ENV.update(values)
    yield
  ensure
    names.each { |name| ENV.delete(name) }
    ENV.update(before)
  end

  # Request line and credentials that a proxy received.
  def requested(server)
    server.requests.map { |head| [head.lines.first.chomp, head[/^proxy-authorization: (.*)\r$/i, 1]] }
  end

  def test_of_the_arguments
    proxied do |host, port, server|
      same { |klass|
        klass.start("target.invalid", 80, host, port, "user", "p:ss/ö") { |http|
          [http.get("/path").body, http.proxy?, http.proxy_address]
        }
      }
      real, ours = requested(server)
      assert_equal real, ours
      assert_equal "GET http://target.invalid/path HTTP/1.1", ours.first
      assert_match(/\ABasic /, ours.last)
    end
  end

  def test_of_a_proxy_class
    proxied do |host, port, server|
      same { |klass| klass::Proxy(host, port).start("target.invalid", 81) { |http| http.get("/").body } }
      assert_equal requested(server).uniq.size, 1
    end
  end

  def test_of_the_environment
    proxied do |host, port, server|
      environment("http_proxy" => "http://#{host}:#{port}", "no_proxy" => "127.0.0.1") do
        same { |klass| klass.start("target.invalid", 80) { |http| http.get("/").body } }
        assert_equal 2, server.requests.size
        same { |klass| klass.start(self.host, self.port) { |http| http.get("/bytes/3").body } }
        assert_empty server.requests
      end
      environment("http_proxy" => "http://#{host}:#{port}") do
        assert_equal 3, Hecaton::NetHTTP.start(self.host, self.port, nil) { |http| http.get("/bytes/3").body.bytesize }
        assert_empty server.requests
      end
    end
  end

  def test_a_tunnel_and_its_refusal
    proxied("target.invalid:443" => Scripted.response(403),
      "other.invalid:443" => Scripted.response(407)) do |host, port, server|
      { "target.invalid" => "403", "other.invalid" => "407" }.each do |name, code|
        error = same_error { |klass|
          klass.start(name, 443, host, port, "user", "pass", use_ssl: true) { |http| http.get("/") }
        }
        assert_equal code, error.response.code
        assert_kind_of Hecaton::ConnectError, error.cause
      end
      assert_equal ["CONNECT target.invalid:443 HTTP/1.1", "Basic dXNlcjpwYXNz"], requested(server).first
    end
  end
end
