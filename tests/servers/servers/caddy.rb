# Caddy in front of the test server: TLS of most kinds, HTTP/2, HTTP/3 (by quic-go), short keep-alive, a limit on
# bodies; reloaded by its own command.
module Servers
  class Caddy < Server
    include Kinds
    title "caddy"
    program "caddy"
    version_by "version"

    %w[cut cut/2 cut/3].each do |check|
      explains check, "Caddy ends a chunked body that its back end cut as if it were whole",
        seen: /truncate-chunked: 200 with \d+ bytes/
    end

    ["reload/3", "reload batch/3"].each { |check| leaves_out check, "a reload closes no connection of HTTP/3" }

    def command = [path, "run", "--config", "Caddyfile", "--adapter", "caddyfile"]
    def environment = { "HOME" => dir, "XDG_DATA_HOME" => dir, "XDG_CONFIG_HOME" => dir }
    def configure = write("Caddyfile", text)
    def codings = { "gzip" => "/gzipped/bytes/100000", "zstd" => "/gzipped/bytes/100000" }
    def early_path = "/upload"

    def reload
      Open3.capture2e(environment, path, "reload", "--force",
        "--config", File.join(dir, "Caddyfile"), "--adapter", "caddyfile",
        "--address", "127.0.0.1:#{port(:admin)}")
    end

    def endpoints
      h2 = Endpoint.tls(port(:tls_rsa), certificates.ca, http: "2")
      { clear: Endpoint.clear(port(:clear)), short: Endpoint.clear(port(:short)),
        early: Endpoint.clear(port(:limited)), h2: h2,
        h3: Endpoint.http3(port(:tls_rsa), certificates.ca), **tls_endpoints }
    end

    private

    def text
      <<~CONF
        {
          admin 127.0.0.1:#{port(:admin)}
          auto_https off
          default_sni 127.0.0.1
          #{kinds.select(&:demands?).map { |kind| "servers 127.0.0.1:#{kind.port} {\n strict_sni_host insecure_off\n}" }.join("\n")}
          servers 127.0.0.1:#{port(:short)} {
            timeouts {
              idle 1s
            }
          }
        }
        #{listen(:clear, "http")}
        #{listen(:short, "http")}
        #{listen(:limited, "http", "handle /upload {\n respond 413\n}")}
        #{kinds.map { |kind| listen(:"tls_#{kind.name}", "https", secure(kind)) }.join("\n")}
      CONF
    end

    def listen(name, scheme, more = "")
      proxy = "reverse_proxy 127.0.0.1:#{behind.port}"
      "#{scheme}://127.0.0.1:#{port(name)} {\n bind 127.0.0.1\n #{more}\n" \
      " handle_path /gzipped/* {\n  encode gzip zstd\n  #{proxy}\n }\n handle {\n  #{proxy}\n }\n}"
    end

    def secure(kind)
      demand = "client_auth {\n mode require_and_verify\n trusted_ca_cert_file #{certificates.ca}\n}" if kind.demands?
      "tls #{kind.certificate} #{kind.key} {\n protocols tls#{kind.versions.min} tls#{kind.versions.max}\n #{demand}\n}"
    end
  end
end
