# Traffic Server in front of the test server: HTTP/1.1 and HTTP/2 over TLS, ten streams a connection, short keep-alive
# in another.
module Servers
  class TrafficServer < Server
    title "trafficserver"
    program "traffic_server"
    version_by "--version", pattern: /\d+\.\d+\.\d+/

    def streams = 10
    def codings = { "gzip" => "/encoded/gzip/100000" }
    def commands = %w[one two].map { |name| [path, "--run-root=#{File.join(dir, name, "runroot.yaml")}"] }

    def configure
      lay("one", ports: "#{port(:clear)}:ip-in=127.0.0.1 #{port(:tls)}:ip-in=127.0.0.1:ssl", idle: 10)
      lay("two", ports: "#{port(:short)}:ip-in=127.0.0.1", idle: 1)
    end

    def endpoints
      h2 = Endpoint.tls(port(:tls), certificates.ca, http: "2")
      { clear: Endpoint.clear(port(:clear)), short: Endpoint.clear(port(:short)), h2: h2, streams_10: h2,
        tls_rsa: Endpoint.tls(port(:tls), certificates.ca) }
    end

    private

    # A root folder of its own, with all files that Traffic Server expects there.
    def lay(name, **settings)
      root = File.join(dir, name)
      folders = %w[bin sbin config cache lib libexec run log include share].to_h { |folder|
        [folder, File.join(root, folder)]
      }
      FileUtils.mkdir_p(folders.values)
      FileUtils.chmod_R(0o777, root)
      File.write(File.join(root, "runroot.yaml"), <<~YAML)
        prefix: #{root}
        exec_prefix: #{root}
        bindir: #{folders["bin"]}
        sbindir: #{folders["sbin"]}
        sysconfdir: #{folders["config"]}
        datadir: #{folders["share"]}
        includedir: #{folders["include"]}
        libdir: #{folders["lib"]}
        libexecdir: #{folders["libexec"]}
        localstatedir: #{root}
        runtimedir: #{folders["run"]}
        logdir: #{folders["log"]}
        cachedir: #{folders["cache"]}
      YAML
      write("#{name}/config/records.config", records(**settings))
      write("#{name}/config/remap.config", "map / http://127.0.0.1:#{behind.port}/\n")
      write("#{name}/config/ssl_multicert.config",
        "dest_ip=* ssl_cert_name=#{certificates.cert} ssl_key_name=#{certificates.key_of}\n")
      write("#{name}/config/storage.config", "#{folders["cache"]} 16M\n")
      write("#{name}/config/ip_allow.yaml",
        "ip_allow:\n  - apply: in\n    ip_addrs: 0/0\n    action: allow\n    methods: ALL\n")
      write("#{name}/config/logging.yaml", "logging:\n")
    end

    def records(ports:, idle:)
      <<~CONF
        CONFIG proxy.config.http.server_ports STRING #{ports}
        CONFIG proxy.config.admin.user_id STRING #-1
        CONFIG proxy.config.http.cache.http INT 0
        CONFIG proxy.config.exec_thread.autoconfig INT 0
        CONFIG proxy.config.exec_thread.limit INT 2
        CONFIG proxy.config.http.keep_alive_no_activity_timeout_in INT #{idle}
        CONFIG proxy.config.http2.max_concurrent_streams_in INT #{streams}
        CONFIG proxy.config.http2.min_concurrent_streams_in INT #{streams}
        CONFIG proxy.config.http.normalize_ae INT 0
        CONFIG proxy.config.url_remap.pristine_host_hdr INT 0
        CONFIG proxy.config.diags.output.error STRING E
      CONF
    end
  end
end
