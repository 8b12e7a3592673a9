# Every pair of options sends what the original sends. The pairs are made of the table of options.
require_relative "both"
require "hecaton/typhoeus/module"
require "socket"
require "tmpdir"

class TyphoeusPairsTest < Minitest::Test
  # Option → a value, or several. `url` and `folder` are names in these values.
  SAMPLES = {
    method: [":post", ":put", ":head"], params: "{ a: 1 }", params_encoding: ":rack", escape: "false",
    multipart: "true", followlocation: "true", maxredirs: "1", timevalue: "0", customrequest: "'PURGE'",
    failonerror: "true", verbose: "false", path_as_is: "true", username: "'user'", password: "'pass'", proxy: "url",
    ssl_verifypeer: "false", ssl_verifyhost: "0", cookiejar: 'folder + "/jar"', cookiesession: "true",
    low_speed_limit: "1", body: ["'text'", "{ b: [1, 2] }", "{ f: File.open(file) }"],
    headers: [
      "{ 'X-A' => 'b' }", "{ 'Cookie' => 'h=1' }", "{ 'Accept-Encoding' => 'br' }", "{ 'Accept-Encoding' => '' }",
      "{ 'Content-Type' => 'application/json' }", "{ 'Content-Type' => 'multipart/form-data' }",
      "{ 'User-Agent' => 'own' }",
      "{ 'User-Agent' => '' }", "{ 'Accept' => '' }", "{ 'Referer' => 'own' }", "{ 'Range' => 'bytes=0-1' }",
      "{ 'Authorization' => 'own' }", "{ 'Host' => 'own' }", "{ 'If-Modified-Since' => 'own' }"
    ],
    timeout: "9", timeout_ms: "9000", connecttimeout: "8", connecttimeout_ms: "8000", cookie: "'c=1'",
    referer: "'http://r/'", useragent: "'agent'", range: "'0-1'", resume_from: "1", timecondition: ":ifmodsince",
    port: "port", protocols: ":http", redir_protocols: ":all", userpwd: "'u:p'", httpauth: ":basic",
    noproxy: "'example.org'", httpproxytunnel: "false", proxyport: "port", proxytype: ":http",
    proxyuserpwd: "'pu:pp'", proxyauth: ":basic", proxyusername: "'pu'", proxypassword: "'pp'",
    sslversion: ":tlsv1_2", forbid_reuse: "true", maxconnects: "3", accept_encoding: ["'gzip'", "''", "'identity'"],
    http_content_decoding: "false", http_version: ":httpv1_1", ipresolve: ":v4", maxfilesize: "9999",
    low_speed_time: "9", cookiefile: "file", cookielist: "'Set-Cookie: l=1; path=/; domain=127.0.0.1'",
    nobody: "true", httpget: "true", transfer_encoding: "false", fresh_connect: "true", maxfilesize_large: "9999",
    netrc: ":ignored", tcp_nodelay: "true", ssl_sessionid_cache: "true", dns_cache_timeout: "9", pipewait: "false",
    buffersize: "9999", nosignal: "true", noprogress: "true", cache: "false", cache_ttl: "9"
  }.freeze

  # Options without a sample, and why.
  LEFT_OUT = {
    "they need a server with TLS" => %i[
      cainfo capath sslcert sslkey keypasswd sslcertpasswd sslkeypasswd pinnedpublickey sslcerttype sslkeytype
      pinned_public_key crlfile
    ],
    "the original needs a list or a callback of libcurl's in C" => %i[resolve set_read_callback],
    "the URL leads elsewhere" => %i[unix_socket_path unix_socket interface],
    "Typhoeus sets it itself for a method or a body" => %i[
      postfields copypostfields post put upload infilesize infilesize_large postfieldsize postfieldsize_large
    ],
    "another name of an option that has one" => %i[resume_from_large],
    "libcurl cannot do it here, or any value but off is refused" => %i[
      postredir post301 netrc_file autoreferer unrestricted_auth tcp_keepalive dns_use_global_cache certinfo
    ]
  }.freeze

  # Why a pair may differ, and which: those with all of these texts.
  KNOWN = {
    "the original overrides useragent by its default" => [["useragent:"]],
    "the request offers all codings that can be decoded" => [
      ["accept_encoding: ''"], ["'Accept-Encoding' => ''", "accept_encoding: 'gzip'"],
      ["'Accept-Encoding' => ''", "accept_encoding: 'identity'"]
    ],
    "libcurl takes a range for that of what is sent" => [
      %w[body: range:], %w[body: resume_from:], %w[:post range:], %w[:put range:], %w[:post resume_from:],
      %w[:put resume_from:]
    ],
    "only one of them can be meant" => [%w[range: resume_from:], %w[Range resume_from:]],
    "a method of one's own without a body has no length" => [%w[:post customrequest:], %w[:put customrequest:]],
    "the original forgets the method when there is a body" => [%w[body: customrequest:], %w[body: nobody:]],
    "PUT sends Files as multipart" => [%w[:put File]],
    "the original fails" => [["multipart:", "body: 'text'"]],
    "a part of multipart is form-data, whatever the type of all" => [%w[File application/json]],
    "cookies are for the host of the URL" => [%w[Host cookiefile:], %w[Host cookielist:]]
  }.freeze

  # Differences from an original with a libcurl from version 8 on.
  KNOWN_FROM_8 = {
    "since then, libcurl sends a password without a user" => [%w[password:]]
  }.freeze

  def test_all_options_have_a_sample_or_a_reason
    all = SAMPLES.keys + LEFT_OUT.values.flatten
    assert_empty Hecaton::Typhoeus::Plan::TAKERS.keys - all
    assert_empty all.tally.select { |_, count| count > 1 }.keys
  end

  def test_pairs
    skip "the original Typhoeus is not installed" unless original?
    differing = Dir.mktmpdir do |folder|
      sent = Both::LIBRARIES.keys.map { |library| Recorder.open { |recorder| sent_by(library, recorder, folder) } }
      pairs.select { |number, _|
        sent[0].fetch(number) != sent[1].fetch(number)
      }.map { |number, pair|
        [pair, *sent.map { |all|
                 all[number]
               }]
      }
    end
    unknown = differing.reject { |pair, *| known?(pair) }
    assert_empty unknown.map { |difference|
                   difference.map(&:to_s).join("\n  ")
                 }.first(10).join("\n"), "of #{pairs.size} pairs"
    used = known.select { |texts|
      differing.any? { |pair, *|
        texts.all? { |text|
          pair.include?(text)
        }
      }
    }
    assert_equal known, used, "known differences that are none"
  end

  private

  def original? = system(RbConfig.ruby, "-rtyphoeus", "-e", "", err: File::NULL)

  def known?(pair) = known.any? { |texts| texts.all? { |text| pair.include?(text) } }

  def known
    @known ||= (libcurl >= 8 ? KNOWN.merge(KNOWN_FROM_8) : KNOWN).values.flatten(1)
  end

  # The first part of the version of the original's libcurl.
  def libcurl
    IO.popen([RbConfig.ruby, "-rtyphoeus", "-e", "print Ethon::Curl.version"], &:read)[%r{libcurl/(\d+)}, 1].to_i
  end

  # Number → Ruby for the two options.
  def pairs
    @pairs ||= begin
      samples = SAMPLES.flat_map { |name, values| Array(values).map { |value| [name, value] } }
      two = samples.combination(2).reject { |one, other| one.first == other.first }
      two.each_with_index.to_h { |pair, number|
        [number.to_s, pair.map { |name, value|
                        "#{name}: #{value}"
                      }.join(", ")]
      }
    end
  end

  # Number → what the program sees, and the requests that arrived.
  def sent_by(library, recorder, folder)
    cases = pairs.to_h do |number, pair|
      [number, <<~RUBY]
        Typhoeus::Pool.clear
        FileUtils.rm_f(%(\#{folder}/jar))
        response = Typhoeus::Request.new(%(\#{url}/#{number}), { timeout: 9 }.merge({ #{pair} })).run
        puts response.return_code, response.code
      RUBY
    end
    file = "#{folder}/file"
    File.write(file, "127.0.0.1\tFALSE\t/\tFALSE\t0\tf\t1\n")
    said = Both.run(library, cases, prelude: "require %(fileutils)\n", url: recorder.url, port: recorder.port,
      folder: folder, file: file)
    said.to_h { |number, output| [number, [output, recorder.requests(number)]] }
  end

  # A server that keeps the requests by the number in their path.
  class Recorder
    HOP = %w[host connection proxy-connection expect].freeze
    BOUNDARY = /boundary=\S+/

    def self.open
      recorder = new
      yield recorder
    ensure
      recorder&.stop
    end

    attr_reader :port

    def initialize
      @server = TCPServer.new("127.0.0.1", 0)
      @port = @server.local_address.ip_port
      @requests = Hash.new { |all, number| all[number] = [] }
      @accepting = Thread.new { loop { Thread.new(@server.accept) { |socket| serve(socket) } } }
    end

    def url = "http://127.0.0.1:#{port}"

    # Request line, fields and body, in a form that both libraries share.
    def requests(number)
      @requests[number].map do |head, body|
        line, *fields = head.delete_suffix("\r\n\r\n").split("\r\n")
        [line.sub(url, ""), comparable(fields), body.gsub(/^--+\w+/, "--boundary")]
      end
    end

    def stop
      @accepting.kill
      @server.close
    end

    private

    def comparable(fields)
      fields = fields.map { |field|
                 field.split(": ", 2)
               }.map { |name, value| [name.downcase, value.to_s.sub(BOUNDARY, "boundary")] }
      fields.reject! { |name, _value|
        HOP.include?(name) || (name == "content-length" && fields.join.include?("boundary"))
      }
      # libcurl sends a Cookie header beside one of its own.
      cookies, others = fields.partition { |name, _| name == "cookie" }
      others.sort << cookies.flat_map { |_, value| value.split("; ") }.sort
    end

    def serve(socket)
      while (head = socket.gets("\r\n\r\n"))
        @requests[head[%r{/(\d+)(?=[? ])}, 1]] << [head, body(socket, head)]
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n#{"ok" unless head.start_with?("HEAD")}")
      end
    rescue IOError, SystemCallError
      nil # The client has closed it.
    end

    def body(socket, head)
      socket.write("HTTP/1.1 100 Continue\r\n\r\n") if head.match?(/^expect/i)
      length = head[/^content-length: (\d+)/i, 1]
      length ? socket.read(length.to_i) : ""
    end
  end
end
