# Varnish in front of the test server: HTTP/1.1 and HTTP/2 without TLS, another one with short keep-alive.
module Servers
  class Varnish < Server
    title "varnish"
    program "varnishd"
    version_by "-V"

    # Over HTTP/1.1 only now and then: a plain socket saw the last chunk in 3 of 600 responses on a busy machine.
    %w[cut cut/2].each do |check|
      explains check, "Varnish ends a chunked body that its back end cut as if it were whole",
        seen: /truncate-chunked: 200 with \d+ bytes/
    end

    def commands
      [[path, *common("one", :clear), "-p", "feature=+http2", "-p", "timeout_idle=10"],
       [path, *common("two", :short), "-p", "timeout_idle=1"]]
    end

    def configure
      write("default.vcl", <<~VCL)
        vcl 4.1;
        backend origin { .host = "127.0.0.1"; .port = "#{behind.port}"; }
        sub vcl_recv {
          return (pass);
        }
      VCL
    end

    def codings = { "gzip" => "/encoded/gzip/100000" }

    def endpoints
      { clear: Endpoint.clear(port(:clear)), short: Endpoint.clear(port(:short)),
        h2: Endpoint.clear(port(:clear), http: "2", curl: ["--http2-prior-knowledge"]) }
    end

    private

    def common(name, endpoint)
      ["-F", *("-jnone" if Process.uid.zero?), "-n", File.join(dir, name),
       "-f", File.join(dir, "default.vcl"), "-a", "127.0.0.1:#{port(endpoint)}",
       "-s", "default,16m"]
    end
  end
end
