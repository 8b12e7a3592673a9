# Python's servers: uvicorn and hypercorn (HTTP/3 by aioquic) for ASGI, gunicorn and waitress for WSGI.
module Servers
  class PythonServer < Server
    APP = File.join(HOME, "apps/python").freeze

    def self.program = [File.join(INSTALLED, "python/bin", title)]

    def self.version
      package = Open3.capture2(File.join(INSTALLED, "python/bin/python"), "-c",
        "import importlib.metadata as m; print(m.version('#{title}'))")[0].strip
      path && package
    end

    def early_path = "/early"
    def codings = { "gzip" => "/gzipped" }
    def pair(cert = "--certfile", key = "--keyfile") = [cert, certificates.cert, key, certificates.key_of]
    def environment = { "PYTHONPATH" => APP, "PYTHONDONTWRITEBYTECODE" => "1" }
  end

  class Uvicorn < PythonServer
    title "uvicorn"

    def commands
      [[*common(:clear), "--timeout-keep-alive", "10"], [*common(:short), "--timeout-keep-alive", "1"],
       [*common(:tls_rsa), *pair("--ssl-certfile", "--ssl-keyfile")]]
    end

    def endpoints
      clear = Endpoint.clear(port(:clear))
      { clear: clear, early: clear, short: Endpoint.clear(port(:short)),
        tls_rsa: Endpoint.tls(port(:tls_rsa), certificates.ca) }
    end

    private

    def common(name) = [path, "app:asgi", "--host", "127.0.0.1", "--port", port(name).to_s, "--log-level", "warning"]
  end

  class Hypercorn < PythonServer
    title "hypercorn"

    FEW = 100

    explains "GOAWAY",
      "after its GOAWAY it treats requests on the way as a PROTOCOL_ERROR, and drops the streams that it had begun",
      seen: /\A\d+ of 2000 failed: (\d+ × BodyError the body was cut short.*?; )?\d+ × ProtocolError the server ended the connection \(PROTOCOL_ERROR\)/
    explains "early/3", "beside a body that its program does not read, hypercorn accepts no other connection of HTTP/3",
      seen: /\A\d+ of 10 failed: \d+ × TimeoutError connecting took longer/

    def commands = %w[one two three].map { |name| [path, "--config", File.join(dir, "#{name}.toml"), "app:asgi"] }
    def streams = 100

    def configure
      lasting = "keep_alive_timeout = 10\nkeep_alive_max_requests = 1000000"
      settle("one", :clear, :tls_rsa, "#{lasting}\nh2_max_concurrent_streams = 100")
      settle("three", :clear_10, :tls_10, "#{lasting}\nh2_max_concurrent_streams = 10")
      settle("two", :short, :tls_few,
        "keep_alive_timeout = 1\nkeep_alive_max_requests = #{FEW}\nh2_max_concurrent_streams = 10")
    end

    def endpoints
      clear = Endpoint.clear(port(:clear))
      h2 = Endpoint.tls(port(:tls_rsa), certificates.ca, http: "2")
      few = Endpoint.tls(port(:tls_few), certificates.ca, http: "2")
      { clear: clear, early: clear, short: Endpoint.clear(port(:short)),
        tls_rsa: Endpoint.tls(port(:tls_rsa), certificates.ca), h2: h2, early_h2: h2,
        h3: Endpoint.http3(port(:tls_rsa), certificates.ca), early_h3: Endpoint.http3(port(:tls_rsa), certificates.ca),
        streams_100: h2, streams_10: Endpoint.tls(port(:tls_10), certificates.ca, http: "2"), few: few }
    end

    private

    def settle(name, clear, tls, more)
      write("#{name}.toml", <<~TOML)
        bind = ["127.0.0.1:#{port(tls)}"]
        quic_bind = ["127.0.0.1:#{port(tls)}"]
        insecure_bind = ["127.0.0.1:#{port(clear)}"]
        certfile = "#{certificates.cert}"
        keyfile = "#{certificates.key_of}"
        alpn_protocols = ["h2", "http/1.1"]
        worker_class = "asyncio"
        #{more}
      TOML
    end
  end

  class Gunicorn < PythonServer
    title "gunicorn"

    # HUP starts new workers and lets the old ones finish.
    def reload = Process.kill(:HUP, pid)

    def commands
      [[*common(:clear), "--keep-alive", "10"], [*common(:short), "--keep-alive", "1"], [*common(:tls_rsa), *pair]]
    end

    def endpoints
      clear = Endpoint.clear(port(:clear))
      { clear: clear, early: clear, short: Endpoint.clear(port(:short)),
        tls_rsa: Endpoint.tls(port(:tls_rsa), certificates.ca) }
    end

    private

    def common(name)
      [path, "-k", "gthread", "--threads", "60", "--workers",
       "1", "--graceful-timeout", "3", "-b", "127.0.0.1:#{port(name)}",
       "--log-level", "error", "app:wsgi"]
    end
  end

  class Waitress < PythonServer
    title "waitress"

    def self.program = [File.join(INSTALLED, "python/bin/waitress-serve")]
    # Its default.
    def takes_100 = true

    # waitress buffers a request's body, so it refuses early only by its own limit.
    def early_path = "/upload"

    def commands
      [common(:clear), common(:limited, "--max-request-body-size=1000000")]
    end

    def endpoints = { clear: Endpoint.clear(port(:clear)), early: Endpoint.clear(port(:limited)) }

    private

    def common(name, *more) = [path, "--listen=127.0.0.1:#{port(name)}", "--threads=16", *more, "app:wsgi"]
  end
end
