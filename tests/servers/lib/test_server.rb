# The project's test server behind a proxy. Its log (the ledger) has the requests that really arrived.
module Servers
  class TestServer
    BINARY = ENV.fetch("HECATON_BINARY") { File.join(ROOT, "target/release/hecaton") }

    attr_reader :url, :port

    def initialize(*arguments)
      raise Absent, "the test server is not built (#{BINARY}): run bin/setup" unless File.executable?(BINARY)

      @output = IO.popen([BINARY, "serve", "--listen", "127.0.0.1:0", *arguments], "r", err: %i[child out])
      @url = @output.gets.to_s.chomp
      raise Absent, "the test server did not start: #{@url}" unless @url.start_with?("http")

      @port = URI(@url).port
    end

    def ledger = JSON.parse(Net::HTTP.get(URI("#{url}/ledger")))

    def stop
      Process.kill(:TERM, @output.pid)
      @output.read
      @output.close
    rescue IOError, Errno::ESRCH
      nil
    end
  end
end
