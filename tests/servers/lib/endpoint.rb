# One endpoint of a server: a URL, and the options with which the gem and curl request it.
module Servers
  # options: keywords of Hecaton::Client; curl: the equivalent arguments of curl.
  class Endpoint
    attr_reader :base, :options, :curl_options

    def initialize(base, curl: [], **options)
      @base, @options, @curl_options = base, options, curl
    end

    # An https endpoint whose certificate this authority signed.
    def self.tls(port, ca, curl: [], **options)
      new("https://127.0.0.1:#{port}", curl: ["--cacert", ca, *curl], ca: ca, **options)
    end

    # The same over HTTP/3. Only the curl of Debian's testing suite speaks it.
    def self.http3(port, ca, curl: [], **options) = tls(port, ca, curl: ["--http3-only", *curl], http: "3", **options)

    def self.clear(port, curl: [], **options) = new("http://127.0.0.1:#{port}", curl: curl, **options)

    def url(path) = base + path

    def client(**more) = Hecaton::Client.new(**{ timeout: 20, proxy: false }, **options, **more)

    # curl's exit code, status and body.
    def curl(path, *more, limit: 20)
      command = [*program, "-sS", "--noproxy", "*", "--max-time", limit.to_s,
                 "-o", "-", "-w", "\n%{http_code} %{http_version}",
                 *curl_options, *more, url(path)]
      command -= ["--noproxy", "*"] if (curl_options + more).include?("-x")
      output, error, status = Open3.capture3(*command, binmode: true)
      body, _, tail = output.rpartition("\n")
      code, version = tail.split
      CurlResult.new(status.exitstatus, code.to_i, version, body, error.strip)
    end

    def program = options[:http] == "3" ? Forky.run("curl") : ["curl"]

    CurlResult = Struct.new(:exit, :status, :version, :body, :error) do
      def ok? = exit.zero? && status.between?(200, 299)
    end
  end
end
