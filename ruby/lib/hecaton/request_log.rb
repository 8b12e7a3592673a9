# Writes a line for each request to a logger, and the heads if its level is DEBUG; no secrets.
module Hecaton
  # The log that Client.new makes of logger. At level info one line a request, when it has ended: method, URL, status or
  # error, milliseconds, attempts. At level debug the head of each request and of each response. A request's head lacks
  # the engine's own fields (Host, User-Agent, a jar's Cookie and the like).
  #
  # URLs are without user, password, query and fragment. An invalid URL is not written. The value of a header is written
  # only if the header is public (see public_headers of Client.new) or one of SHOWN; all other values are [hidden]. In
  # the values that are written, what follows a `?` or `#` is [hidden] too, as it may be the query of a URL. No body is
  # written.
  class RequestLog
    # Array of String: names of headers whose values the log shows beside those of public ones, in lower case. They
    # can hold a secret only inside a URL.
    SHOWN = %w[
      accept-ranges age allow content-length content-location date deprecation etag expires host keep-alive
      last-modified link location refresh retry-after server sunset trailer transfer-encoding upgrade vary via
    ].freeze
    HIDDEN = "[hidden]".freeze
    LOGIN = %r{\A(\s*(?:[a-z][a-z0-9+.-]*:[/\\]*|[/\\]{2,}))[^/\\]*@}i
    NO_URL = "(no URL)".freeze
    # Relative, but with a scheme that is misspelt, and perhaps a password: "ht!tp://user:password@host".
    STRANGE = %r{\A(?!\s*https?:[/\\]).*[/\\]{2}.*@}im
    private_constant :HIDDEN, :LOGIN, :NO_URL, :STRANGE

    # A RequestLog for this logger of a client with these public headers; nil for none.
    def self.for(logger, public_headers = [])
      return if logger.nil?
      return new(logger, public_headers) if logger.respond_to?(:info) && logger.respond_to?(:debug)

      raise ArgumentError,
        "logger is of class #{logger.class}: give one with info and debug, such as Logger.new($stdout)"
    end

    def initialize(logger, public_headers = [])
      @logger = logger
      @public_headers = public_headers
    end

    # The head of a request. flat: names and values, [name, value, name, value]. own: the client's.
    def head(method, url, flat, own)
      debug do
        fields = Headers.replaced(own.each_slice(2).to_a, flat.to_a.each_slice(2).to_a).reject { |_, value| value.nil? }
        ["> #{method} #{RequestLog.given(url)}", *lines(">", fields)].join("\n")
      end
    end

    # How a request ended.
    def outcome(method, outcome)
      safely { @logger.info { RequestLog.line(method, outcome) } }
      response = outcome.response or return
      debug { ["< #{[response.status, response.reason].compact.join(" ")}", *lines("<", response.headers)].join("\n") }
    end

    # "GET http://host/path 200 in 12.3 ms, 1 attempt".
    def self.line(method, outcome)
      ended = outcome.response ? outcome.response.status :
        "#{outcome.class.name.delete_prefix("Hecaton::")} (#{outcome.phase})"
      redirects = outcome.redirects
      line = +"#{method} #{url((redirects.first || outcome).url)} #{ended} in "
      line << format("%.1f ms, ", outcome.elapsed * 1000) << count(outcome.attempts, "attempt")
      line << ", #{count(redirects, "redirect")} to #{url(outcome.url)}" if redirects.any?
      line << ": #{outcome.message.gsub(/[[:cntrl:]]+/, " ")}" unless outcome.response
      line
    end

    # A URL without what may be secret.
    def self.url(url) = url.to_s.scrub.sub(/[?#].*/m, "").sub(LOGIN, '\1').gsub(/[[:cntrl:]]/, "")

    # A URL from a caller, without what may be secret. Text that is no URL is not shown, because nobody knows where a
    # password in it ends.
    def self.given(url)
      Native.resolve("http://localhost/", url.to_s)
      url(url).then { |shown| shown.match?(STRANGE) ? NO_URL : shown }
    rescue ArgumentError
      NO_URL
    end

    # "1 attempt", "2 attempts".
    def self.count(list, what) = "#{list.size} #{what}#{"s" unless list.size == 1}"

    private

    def debug(&text) = safely { @logger.debug(&text) if !@logger.respond_to?(:debug?) || @logger.debug? }

    def lines(sign, fields)
      fields.map do |name, value|
        shown = !shown?(name) ? HIDDEN :
          value.to_s.scrub.gsub(%r{//[^/\s]*@}, "//").gsub(/([?#])[^>"]*/, "\\1#{HIDDEN}")
        "#{sign} #{name}: #{shown}".gsub(/[[:cntrl:]]/, " ")
      end
    end

    def shown?(name) = SHOWN.include?(name.downcase) || Native.public_header?(name, @public_headers)

    # A logger that raises must not keep a request from its outcome.
    def safely
      yield
    rescue StandardError => error
      warn "hecaton: the logger raised #{error.class}: #{error.message} (#{error.backtrace&.first})"
    end
  end
end
