# HAProxy of Debian's testing suite: HTTP/3 with all kinds of TLS; bodies refused; reloaded by its master.
module Servers
  class HaproxyHttp3 < Haproxy
    extend Forky::Program
    title "haproxy-http3"
    program "haproxy"
    version_by "-v"

    # Packets of new connections reach the process that ends.
    undef_method :reload

    def command = Forky.run("haproxy", "-W", "-db", "-f", File.join(dir, "haproxy.cfg"))
    # HTTP/3 has TLS 1.3 alone.
    def without_kinds = %w[12]
    def tls_http = "3"

    def endpoints
      h3 = ->(name) { Endpoint.http3(port(name), certificates.ca) }
      { clear: Endpoint.clear(port(:clear)), h3: h3[:tls_rsa], streams_3_100: h3[:tls_rsa], early_h3: h3[:limited_tls],
        **tls_endpoints }
    end

    private

    # Each port of TLS over UDP too.
    def listen(name, more = "", secure = "")
      return super if secure.empty?

      quic = "bind quic4@127.0.0.1:#{port(name)} #{secure.sub("alpn h2,http/1.1", "alpn h3")}"
      super(name, "#{quic}\n  #{more}", secure)
    end
  end
end
