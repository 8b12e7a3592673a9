# dante: SOCKS5, open on one port, with a name and a password on the other.
module Servers
  class Dante < Forward
    title "dante"
    program "danted", "sockd"
    version_by "-v"

    def commands
      %w[plain].map { |name| [path, "-f", File.join(dir, "#{name}.conf"), "-p", File.join(dir, "#{name}.pid")] }
    end

    def configure
      write("plain.conf", <<~CONF)
        logoutput: stderr
        internal: 127.0.0.1 port = #{port(:clear)}
        external: lo
        socksmethod: none
        clientmethod: none
        user.privileged: root
        user.unprivileged: nobody
        client pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }
        socks pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }
      CONF
    end

    def endpoints
      # To curl socks5 is the one that resolves here.
      proxy = "socks5://127.0.0.1:#{port(:clear)}"
      { clear: through(proxy), tunnel: tunnel(proxy) }
    end
  end
end
