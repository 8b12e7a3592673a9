# Apache in front of the test server: TLS of all kinds, HTTP/2, short keep-alive, limits on streams and bodies.
module Servers
  class Apache < Server
    include Kinds
    title "apache"
    program "apache2", "httpd"
    version_by "-v"

    # curl re-sends once, too. On a busy machine 3 of 624 GETs were on two such connections.
    ["reload", "reload/2", "reload batch", "reload batch/2"].each do |check|
      explains check,
        "it ended the connection of a GET and then the new one, " \
        "and a re-send that failed is not repeated (RFC 9110 §9.2.2)",
        seen: /\A(\d+) of \d+ failed: \1 × ProtocolError after a re-send: the connection ended before /
    end

    MODULES = %w[mpm_event authz_core rewrite unixd proxy proxy_http ssl socache_shmcb http2 filter deflate].freeze
    FOLDERS = %w[/usr/lib/apache2/modules /usr/lib64/httpd/modules /usr/libexec/apache2].freeze

    def command = [path, "-d", dir, "-f", File.join(dir, "httpd.conf"), "-DFOREGROUND"]
    def configure = write("httpd.conf", text)
    def reload = Process.kill(:USR1, pid)
    # A process of mpm_event that has no free thread closes its idle connections.
    def keep_alive_under_load? = false
    def codings = { "gzip" => "/gzipped/bytes/100000" }
    def early_path = "/upload"

    def endpoints
      { clear: Endpoint.clear(port(:clear)), short: Endpoint.clear(port(:short)), early: Endpoint.clear(port(:limited)),
        h2: Endpoint.tls(port(:tls_rsa), certificates.ca, http: "2"),
        **[1, 10, 100]
          .to_h { |most| [:"streams_#{most}", Endpoint.tls(port(:"streams_#{most}"), certificates.ca, http: "2")] },
        **tls_endpoints }
    end

    private

    def text
      folder = FOLDERS.find { |path| File.directory?(path) } ||
               raise(Absent, "Apache's modules are not in #{FOLDERS.join(" or ")}")
      present = MODULES.select { |name| File.exist?("#{folder}/mod_#{name}.so") }
      <<~CONF
        #{present.map { |name| "LoadModule #{name}_module #{folder}/mod_#{name}.so" }.join("\n")}
        ServerName 127.0.0.1
        PidFile #{dir}/pid
        ErrorLog /dev/stderr
        #{"User www-data\nGroup www-data" if Process.uid.zero?}
        DefaultRuntimeDir #{dir}
        MaxKeepAliveRequests 0
        KeepAliveTimeout 5
        ThreadsPerChild 32
        ServerLimit 8
        MaxRequestWorkers 256
        H2MinWorkers 32
        Protocols h2 http/1.1
        ProxyPass /gzipped/ http://127.0.0.1:#{behind.port}/
        ProxyPass / http://127.0.0.1:#{behind.port}/
        <Location /gzipped/>
          SetOutputFilter DEFLATE
        </Location>
        #{listen(:clear, "Protocols http/1.1")}
        #{listen(:short, "KeepAliveTimeout 1")}
        #{listen(:limited, "RewriteEngine on\nRewriteRule ^/upload - [R=413,L]")}
        #{[1, 10, 100].map { |most| listen(:"streams_#{most}", "H2MaxSessionStreams #{most}\n#{secure(kinds.first)}") }.join("\n")}
        #{kinds.map { |kind| listen(:"tls_#{kind.name}", secure(kind)) }.join("\n")}
      CONF
    end

    def listen(name,
      more) = "Listen 127.0.0.1:#{port(name)}\n<VirtualHost 127.0.0.1:#{port(name)}>\n#{more}\n</VirtualHost>"

    def secure(kind)
      demand = "SSLVerifyClient require\nSSLCACertificateFile #{certificates.ca}" if kind.demands?
      "SSLEngine on\nSSLCertificateFile #{kind.certificate}\nSSLCertificateKeyFile #{kind.key}\n" \
      "SSLProtocol #{kind.versions.map { |version| "+TLSv#{version}" }.join(" ")}\n#{demand}"
    end
  end
end
