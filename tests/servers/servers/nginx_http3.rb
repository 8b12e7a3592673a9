# nginx of Debian's testing suite: HTTP/3 with all kinds of TLS, few requests a connection, limits on streams and
# bodies.
module Servers
  class NginxHttp3 < Nginx
    extend Forky::Program
    title "nginx-http3"
    program "nginx"
    version_by "-v"

    # Packets of new connections reach workers that end, unless the kernel tells them apart by a program (quic_bpf).
    undef_method :reload

    def command = Forky.run("nginx", "-p", dir, "-c", "nginx.conf", "-e", "stderr")
    def streams = 128
    # HTTP/3 has TLS 1.3 alone.
    def without_kinds = %w[12]
    def tls_http = "3"

    def endpoints
      h3 = ->(name) { Endpoint.http3(port(name), certificates.ca) }
      { clear: Endpoint.clear(port(:clear)), h3: h3[:tls_rsa], early_h3: h3[:limited_tls],
        few_h3: h3[:few], short_h3: h3[:short_tls],
        **[1, 10, 100].to_h { |most| [:"streams_3_#{most}", h3[:"streams_#{most}"]] }, **tls_endpoints }
    end

    private

    def text
      super.gsub("http2_max_concurrent_streams", "http3_max_concurrent_streams")
        .sub("upstream origin", "#{listen(:short_tls, "keepalive_timeout 1s;", "ssl http2")}\nupstream origin")
    end

    # Each port of TLS over UDP too.
    def listen(name, more = "", with = "")
      return super if with.empty?

      super(name, "listen 127.0.0.1:#{port(name)} quic reuseport; #{more}", "ssl")
    end
  end
end
