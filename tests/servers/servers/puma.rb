# puma: threads and TLS, and a second one with short keep-alive.
module Servers
  class Puma < Server
    title "puma"
    program "puma"

    def commands = %w[one two].map { |name| [path, "-C", File.join(dir, "#{name}.rb")] }
    # puma ends a connection after ten requests while others wait.
    def keep_alive_under_load? = false
    def codings = { "gzip" => "/gzipped" }

    def configure
      settle("one", ["tcp://127.0.0.1:#{port(:clear)}", tls], 10)
      settle("two", ["tcp://127.0.0.1:#{port(:short)}"], 1)
    end

    def endpoints = { clear: Endpoint.clear(port(:clear)), short: Endpoint.clear(port(:short)),
                      tls_rsa: Endpoint.tls(port(:tls), certificates.ca) }

    private

    def tls = "ssl://127.0.0.1:#{port(:tls)}?key=#{certificates.key_of}&cert=#{certificates.cert}&verify_mode=none"

    def settle(name, binds, idle)
      write("#{name}.rb", <<~RUBY)
        rackup #{File.join(HOME, "apps/ruby/config.ru").inspect}
        environment "production"
        threads 16, 16
        persistent_timeout #{idle}
        quiet
        #{binds.map { |bind| "bind #{bind.inspect}" }.join("\n")}
      RUBY
    end
  end
end
