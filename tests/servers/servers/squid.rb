# squid as a forward proxy: plain, tunnels, credentials, and TLS to the proxy itself.
module Servers
  class Squid < Forward
    title "squid"
    program "squid"
    version_by "-v"

    def command = [path, "-N", "-f", File.join(dir, "squid.conf")]

    def configure
      write("users", "user:#{"secret".crypt("$1$abcdefgh")}\n")
      write("squid.conf", <<~CONF)
        http_port 127.0.0.1:#{port(:clear)}
        http_port 127.0.0.1:#{port(:auth)}
        #{"https_port 127.0.0.1:#{port(:tls)} tls-cert=#{certificates.cert} tls-key=#{certificates.key_of}" if tls?}
        pid_filename none
        cache deny all
        access_log none
        cache_log /dev/stderr
        coredump_dir #{dir}
        shutdown_lifetime 0 seconds
        client_idle_pconn_timeout 20 seconds
        #{"cache_effective_user proxy" if Process.uid.zero?}
        auth_param basic program #{helper} #{dir}/users
        auth_param basic realm hecaton
        acl auth_port localport #{port(:auth)}
        acl known proxy_auth REQUIRED
        http_access deny auth_port !known
        http_access allow all
      CONF
    end

    def endpoints
      plain, auth = "http://127.0.0.1:#{port(:clear)}", "http://user:secret@127.0.0.1:#{port(:auth)}"
      { clear: through(plain), tunnel: tunnel(plain),
        h2: Endpoint.new(secure_server.url, **tunnel(plain).options, http: "2", curl: tunnel(plain).curl_options),
        auth: through(auth), auth_tunnel: tunnel(auth), **(tls? ? over_tls : {}) }
    end

    private

    # One file with both authorities: the proxy's and the test server's.
    def over_tls
      proxy = "https://127.0.0.1:#{port(:tls)}"
      both = write("both.pem", File.read(certificates.ca) + File.read(test_server_ca))
      trusted = { proxy: proxy, ca: both }
      through = ["-x", proxy, "--proxy-cacert", both, "--cacert", both]
      { tls_proxy: Endpoint.new(behind.url, curl: through, **trusted),
        tls_tunnel: Endpoint.new(secure_server.url, curl: through, **trusted) }
    end

    def helper = Dir["/usr/lib{,64}/squid/basic_ncsa_auth"].first || raise(Absent,
      "squid's basic_ncsa_auth is not installed")

    def tls? = @tls.nil? ? @tls = Open3.capture2e(path, "-v")[0].match?(/with-openssl|with-gnutls/) : @tls
  end
end
