# microsocks: SOCKS5 with a name and a password.
module Servers
  class Microsocks < Forward
    title "microsocks"
    program "microsocks"

    # It does not print its version; Debian's package has it.
    def self.version = path && Open3.capture2e("dpkg-query", "-W", "-f", "${Version}",
      "microsocks")[0][/\A\d+(\.\d+)+/] || "unknown"

    def command = [path, "-i", "127.0.0.1", "-p", port(:auth).to_s, "-u", "user", "-P", "secret"]

    def endpoints
      proxy = "socks5://user:secret@127.0.0.1:#{port(:auth)}"
      { clear: through(proxy), tunnel: tunnel(proxy), auth: through(proxy), auth_tunnel: tunnel(proxy) }
    end
  end
end
