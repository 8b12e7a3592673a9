# The outcome of a request → libcurl's facts about a transfer.

module Hecaton::Typhoeus
  # Computed when a program reads a Response's options, not before.
  module Facts
    # Field names with irregular capitals, such as ETag.
    NAMES = { "etag" => "ETag", "www-authenticate" => "WWW-Authenticate", "te" => "TE", "dnt" => "DNT", "nel" => "NEL",
              "content-md5" => "Content-MD5", "x-xss-protection" => "X-XSS-Protection", "sourcemap" => "SourceMap",
              "x-ua-compatible" => "X-UA-Compatible" }
    # The bit in libcurl's httpauth_avail for each scheme.
    SCHEMES = { "basic" => 1, "digest" => 2, "negotiate" => 4, "ntlm" => 8 }.freeze
    # Reason phrases in which Typhoeus differs from the standard; nil for none.
    REASONS = { 101 => nil, 418 => "I'm a Teapot", 510 => nil }.freeze
    private_constant :NAMES, :SCHEMES, :REASONS

    module_function

    # outcome: a Hecaton::Response, Hecaton::Error, or Hecaton::Stream. body: a String. code: the return code.
    def of(outcome, body, code, sent, debug_info)
      times(outcome).merge!(
        httpauth_avail: httpauth(outcome), effective_url: outcome.url.to_s.b, **ends(outcome),
        response_code: status(outcome), request_size: nil, redirect_count: outcome.redirects.size,
        redirect_url: redirect_url(outcome), **sizes(outcome, body, sent),
        return_code: code, response_headers: heads(outcome), response_body: body, debug_info: debug_info
      )
    end

    # The status of the response, 0 for none. For an error: the status of its last attempt, or else of its last
    # redirect.
    def status(outcome)
      return outcome.status unless outcome.is_a?(Hecaton::Error)

      outcome.attempts.last&.status || outcome.redirects.last&.status || 0
    end

    # "HTTP/1.1 200 OK", each field, and an empty line; redirects that were followed come first.
    def heads(outcome)
      return "".b if outcome.is_a?(Hecaton::Error)

      version = outcome.http_version || "1.1"
      urls = [*outcome.redirects.drop(1).map(&:url), outcome.url]
      redirects = outcome.redirects.zip(urls).map do |redirect, url|
        "#{status_line(version, redirect.status)}#{name("location", version)}: #{url}\r\n\r\n"
      end
      fields = outcome.headers.map { |name, value| "#{name(name, version)}: ".b << value.b << "\r\n" }
      [*redirects, status_line(version, outcome.status), *fields, "\r\n"].map(&:b).join
    end

    # The reason is that of the standard: the engine does not keep the server's. HTTP/2 has none.
    private_class_method def status_line(version, status)
      reason = REASONS.fetch(status) { Hecaton::Reasons.of(status) } unless version == "2"
      "HTTP/#{version} #{status} #{reason}\r\n"
    end

    # The engine keeps names in lower case, as HTTP/2 sends them. For HTTP/1.1 they get the capitals that servers
    # usually send.
    private_class_method def name(name, version)
      version == "2" ? name : NAMES.fetch(name) { Hecaton::Headers.title(name) }
    end

    # Both ends of the last attempt's connection (nil for none, or a Unix socket), and its TLS.
    private_class_method def ends(outcome)
      last = outcome.attempts.last
      peer = last&.peer&.port ? last.peer : nil
      local = last&.local&.port ? last.local : nil
      { primary_ip: peer&.address, primary_port: peer&.port,
        local_ip: local&.address, local_port: local&.port, tls: last&.tls }
    end

    private_class_method def httpauth(outcome)
      return 0 if outcome.is_a?(Hecaton::Error) || outcome.status != 401

      outcome.headers.get_all("www-authenticate").flat_map { |value|
        value.scrub.downcase.scan(/(?:\A|,\s*)(\w+)(?=\s|\z)/)
      }
        .flatten.uniq.sum { |scheme| SCHEMES.fetch(scheme, 0) }
    end

    # Where a redirect that was not followed leads.
    private_class_method def redirect_url(outcome)
      return if outcome.is_a?(Hecaton::Error) || !outcome.status.between?(300, 399)

      location = outcome.headers["location"]
      location && Hecaton::Native.resolve(outcome.url, location)
    rescue ArgumentError
      nil
    end

    private_class_method def sizes(outcome, body, sent)
      seconds = outcome.elapsed
      down = body.to_s.bytesize.to_f
      up = (sent || 0).to_f
      { size_upload: up, size_download: down, speed_upload: speed(up, seconds), speed_download: speed(down, seconds) }
    end

    private_class_method def speed(bytes, seconds) = seconds.positive? ? (bytes / seconds).floor.to_f : 0.0

    # Each time counts from the start of the request, as in libcurl, and includes redirects. The phases are those of
    # the last attempt.
    private_class_method def times(outcome)
      last = outcome.attempts.last
      begun = last&.begun || 0.0
      name = begun + last&.queue_time.to_f + last&.resolve_time.to_f
      connected = name + last&.connect_time.to_f
      secure = connected + last&.tls_time.to_f
      first = secure + last&.send_time.to_f + last&.first_byte_time.to_f
      { total_time: outcome.elapsed, namelookup_time: name, connect_time: last&.connect_time ? connected : 0.0,
        appconnect_time: last&.tls_time ? secure : 0.0, pretransfer_time: secure,
        starttransfer_time: last&.first_byte_time ? first : 0.0,
        redirect_time: outcome.redirects.empty? ? 0.0 : begun }
    end
  end
end
