# tinyproxy as a forward proxy, which closes after each response without announcing it; a second one demands
# credentials.
module Servers
  class Tinyproxy < Forward
    title "tinyproxy"
    program "tinyproxy"
    version_by "-v"

    # The gem never sends a request twice that is not idempotent; curl does.
    explains "verbs",
      "it closes each connection after one response without announcing it, " \
      "and a POST sent meanwhile may have been processed",
      seen: /\A(POST|PATCH): \S+ProtocolError the connection ended before a response/

    def keep_alive? = false

    def commands = %w[plain auth].map { |name| [path, "-d", "-c", File.join(dir, "#{name}.conf")] }

    def configure
      settle("plain", :clear)
      settle("auth", :auth, "BasicAuth user secret")
    end

    def endpoints
      plain, auth = "http://127.0.0.1:#{port(:clear)}", "http://user:secret@127.0.0.1:#{port(:auth)}"
      { clear: through(plain), tunnel: tunnel(plain), auth: through(auth), auth_tunnel: tunnel(auth) }
    end

    private

    def settle(name, endpoint, more = "")
      write("#{name}.conf", <<~CONF)
        Port #{port(endpoint)}
        Listen 127.0.0.1
        Timeout 30
        MaxClients 300
        LogLevel Error
        Allow 127.0.0.1
        #{more}
      CONF
    end
  end
end
