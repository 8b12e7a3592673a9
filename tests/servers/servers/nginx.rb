# nginx in front of the test server: TLS of all kinds, HTTP/2, short keep-alive, few requests a connection, limits on
# streams and bodies.
module Servers
  class Nginx < Server
    include Kinds
    title "nginx"
    program "nginx"
    version_by "-v"

    FEW = 100

    def command = [path, "-p", dir, "-c", "nginx.conf", "-e", "stderr"]
    def configure = write("nginx.conf", text)
    def reload = Process.kill(:HUP, pid)
    def codings = { "gzip" => "/gzipped/bytes/100000" }
    def early_path = "/upload"

    def endpoints
      h2 = Endpoint.tls(port(:tls_rsa), certificates.ca, http: "2")
      { clear: Endpoint.clear(port(:clear)), short: Endpoint.clear(port(:short)),
        early: Endpoint.clear(port(:limited)), h2: h2,
        few: Endpoint.tls(port(:few), certificates.ca, http: "2"),
        early_h2: Endpoint.tls(port(:limited_tls), certificates.ca, http: "2"),
        hints: Endpoint.tls(port(:hints), certificates.ca, http: "2"),
        **[1, 10, 100]
          .to_h { |most| [:"streams_#{most}", Endpoint.tls(port(:"streams_#{most}"), certificates.ca, http: "2")] },
        **tls_endpoints }
    end

    private

    def text
      <<~CONF
        daemon off;
        pid nginx.pid;
        worker_processes 2;
        error_log stderr warn;
        #{"user www-data;" if Process.uid.zero?}
        events { worker_connections 2048; }
        http {
          access_log off;
          client_max_body_size 50m;
          keepalive_requests 100000;
          upstream origin { server 127.0.0.1:#{behind.port}; keepalive 64; }
          proxy_http_version 1.1;
          proxy_set_header Connection "";
          client_body_temp_path #{dir}/body;
          proxy_temp_path #{dir}/proxy;
          fastcgi_temp_path #{dir}/fastcgi;
          uwsgi_temp_path #{dir}/uwsgi;
          scgi_temp_path #{dir}/scgi;
          gzip_types *;
          ssl_certificate #{certificates.cert};
          ssl_certificate_key #{certificates.key_of};
          #{listen(:clear)}
          #{listen(:short, "keepalive_timeout 1s;")}
          #{listen(:limited, "client_max_body_size 1m;")}
          #{listen(:limited_tls, "client_max_body_size 1m;", "ssl http2")}
          server { listen 127.0.0.1:#{port(:hints)} ssl http2; location / { proxy_pass http://127.0.0.1:#{back_end.port}; } }
          #{listen(:few, "keepalive_requests #{FEW};", "ssl http2")}
          #{[1, 10, 100].map { |most| listen(:"streams_#{most}", "http2_max_concurrent_streams #{most};", "ssl http2") }.join("\n")}
          #{kinds.map { |kind| listen(:"tls_#{kind.name}", of(kind), "ssl http2") }.join("\n")}
        }
      CONF
    end

    def listen(name, more = "", with = "")
      "server { listen 127.0.0.1:#{port(name)} #{with}; #{more} location / { proxy_pass http://origin; } " \
      "location /gzipped/ { gzip on; gzip_http_version 1.0; proxy_pass http://origin/; } }"
    end

    def of(kind)
      demand = "ssl_client_certificate #{certificates.ca}; ssl_verify_client on;" if kind.demands?
      "ssl_certificate #{kind.certificate}; ssl_certificate_key #{kind.key}; " \
      "ssl_protocols #{kind.versions.map { |version| "TLSv#{version}" }.join(" ")}; #{demand}"
    end
  end
end
