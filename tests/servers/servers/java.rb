# Java's servers: Jetty with HTTP/2 and HTTP/3 (by quiche), and the small one that the JDK brings.
module Servers
  class JavaServer < Server
    program "java"

    def self.program = ["java"]
    def self.classes = File.join(INSTALLED, "java/target/classes")
    def self.path = File.directory?(classes) ? super : raise(Absent, "its classes are not built: bin/setup servers")

    def java(main, *arguments)
      [path, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
       "#{self.class.classes}:#{INSTALLED}/java/lib/*", main, *arguments]
    end

    def early_path = "/early"
  end

  class Jetty < JavaServer
    title "jetty"

    def self.version
      jar = Dir[File.join(INSTALLED, "java/lib/jetty-server-*.jar")].first if path
      jar.to_s[/jetty-server-(.+)\.jar/, 1] || raise(Absent, "Jetty is not installed: bin/setup servers")
    end

    def streams = 128

    explains "early/2", "Jetty resets the stream without the response that its handler gave",
      seen: /reset the stream \(NO_ERROR\)/
    # A body that is larger than the client's window stalls until Jetty gives it up. So does curl's, from 20 MB on.
    # Now and then a smaller body stalls. An early response is reset, with curl as well.
    %w[verbs/3 large/3 early/3].each { |check| leaves_out check, "HTTP/3 of Jetty 12.0 loses and resets bodies" }

    def command
      java("Jetty", "#{port(:clear)}:http:0:10", "#{port(:short)}:http:0:1",
        "#{port(:tls_rsa)}:h2:128:10", "#{port(:tls_rsa)}:h3:128:10",
        *[1, 10, 100].map { |most| "#{port(:"streams_#{most}")}:h2c:#{most}:10" }, File.join(dir, "store.p12"))
    end

    def configure
      key = OpenSSL::PKey.read(File.read(certificates.key_of))
      certificate = OpenSSL::X509::Certificate.new(File.read(certificates.cert))
      File.binwrite(File.join(dir, "store.p12"), OpenSSL::PKCS12.create("secret", "rsa", key, certificate).to_der)
    end

    def endpoints
      clear = Endpoint.clear(port(:clear))
      h2 = Endpoint.tls(port(:tls_rsa), certificates.ca, http: "2")
      { clear: clear, early: clear, short: Endpoint.clear(port(:short)),
        h2: h2, early_h2: h2, tls_rsa: Endpoint.tls(port(:tls_rsa), certificates.ca),
        h3: Endpoint.http3(port(:tls_rsa), certificates.ca), early_h3: Endpoint.http3(port(:tls_rsa), certificates.ca),
        **[1, 10, 100].to_h { |most|
          [:"streams_#{most}", Endpoint.clear(port(:"streams_#{most}"), http: "2", curl: ["--http2-prior-knowledge"])]
        } }
    end
  end

  class Jdk < JavaServer
    title "jdk-httpserver"

    def command = java("Jdk", port(:clear).to_s)

    def endpoints
      clear = Endpoint.clear(port(:clear))
      { clear: clear, early: clear, early_cut: clear }
    end

    # Status and exit code of this many uploads by curl, each on a connection that a GET has used.
    def curl_early_cut(times)
      Tempfile.create("body", dir) do |file|
        file.write("x" * 100_000)
        file.flush
        Array.new(times) do
          endpoint.curl("/echo", "-o", "/dev/null", "--next", "-s", "--noproxy",
            "*", "-o", "/dev/null", "-w", "\n%{http_code} %{exitcode}",
            "-H", "Expect:", "--data-binary", "@#{file.path}",
            endpoint.url("/early/9")).then { |result| "#{result.status} #{result.version}" }
        end
      end
    end
  end
end
