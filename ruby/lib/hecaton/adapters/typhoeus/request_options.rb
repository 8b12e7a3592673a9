# Options of a single request: method, URL, headers, body and credentials.

module Hecaton::Typhoeus
  # Included by Plan.
  module RequestOptions
    FORM = "application/x-www-form-urlencoded"
    # Of libcurl's protocols.
    PROTOCOLS = { http: 1, https: 2 }.freeze
    # Options that imply a method.
    IMPLIED = { nobody: "HEAD", httpget: "GET", post: "POST", put: "PUT", upload: "PUT" }.freeze
    MOST_REDIRECTS = 1000
    EMPTY_MEANS_NONE = %w[accept user-agent].freeze
    private_constant :FORM, :PROTOCOLS, :IMPLIED, :MOST_REDIRECTS, :EMPTY_MEANS_NONE

    private

    def set_body(_name, value) = @given_body = (value unless value == false)

    def set_timeout(name, value) = @timeout ||= seconds(name, value)

    def set_timeout_ms(name, value) = @timeout = milliseconds(name, value)

    def set_headers(option, value)
      Refusals.value(option, "[hidden]", "Give a Hash of names and values.") unless value.is_a?(Hash)

      value.each do |name, text|
        name = name.to_s
        text.is_a?(Array) ? text.each { |each| add_header(name, each.to_s) } : add_header(name, text.to_s)
      end
    end

    # An empty value is libcurl's way to leave a header out. The engine has the same for what it adds itself.
    def add_header(name, text)
      case name.size
      when 6 then return if text.empty? && name.casecmp?("expect")
      when 10 then return if text == USER_AGENT && name.casecmp?("user-agent")
      end
      (@headers ||= []) << [name, text.empty? && !EMPTY_MEANS_NONE.include?(name.downcase) ? nil : text]
    end

    def set_cookie(_name, value) = add_header_once("Cookie", value.to_s)

    def set_referer(_name, value) = add_header_once("Referer", value.to_s)

    def set_useragent(_name, value) = add_header_once("User-Agent", value.to_s)

    # Values in headers take precedence.
    def add_header_once(name, text) = (@later ||= []) << [name, text]

    def set_range(_name, value) = add_header_once("Range", "bytes=#{value}")

    def set_resume_from(name, value) = (@resumes = value if number(name, value).positive?)

    def set_timecondition(name, value) = @time_condition = enum(name, value, %i[none ifmodsince ifunmodsince])

    def set_implied(name, value) = (@implied = IMPLIED[name] if on?(value))

    # The size of an upload is that of what is read.
    def set_protocols(name, value)
      names = Array(value).flat_map { |each|
        each.is_a?(Integer) ? PROTOCOLS.keys.select { |key| each.anybits?(PROTOCOLS[key]) } : each.to_sym
      }
      @protocols = names.include?(:all) ? nil : names & PROTOCOLS.keys
      only(name, value, @protocols.nil? || @protocols.any?, "Hecaton supports http and https.")
    end

    def set_redir_protocols(name, value)
      names = Array(value).map { |each| each.is_a?(Integer) ? each : each.to_sym }
      return setting(:redirects_to_http, false) if names == [:https] || names == [2]

      both = names.include?(:all) || (names & %i[http https]).size == 2 ||
             names.any? { |each| each.is_a?(Integer) && each.allbits?(3) }
      only(name, value, both, "Hecaton follows redirects to http and https, or with [:https] never from https to http.")
    end

    def set_postredir(name, value) = only(name, value, !on?(value), "A POST becomes a GET by 301, 302 and 303.")

    def set_encoding_of_transfer(name, value)
      only(name, value, !on?(value), "Hecaton requests no coding of the transfer.")
    end

    def set_userpwd(_name, value)
      @userpwd = value.to_s.split(":", 2).then { |user, password| [user.to_s, password.to_s] }
    end

    def set_httpauth(_name, value)
      @httpauth = value.is_a?(Array) ? value.map(&:to_sym) : [value.is_a?(String) ? value.to_sym : value]
    end

    # Called after all options if there are credentials, so their order does not matter.
    def authenticate
      pair = @userpwd || [@username.to_s, @password.to_s]
      case @httpauth
      when nil, [:basic], [1] then @basic_auth = pair
      when [:digest], [2] then @digest_auth = pair
      else
        Refusals.value(:httpauth, @httpauth.size == 1 ? @httpauth.first : @httpauth,
          "Hecaton does not find out which kinds a server supports: say :basic or :digest.")
      end
    end

    # Called after all options, so their order does not matter.
    def set_up_request
      @verb = @custom ||
              (@implied == "HEAD" || @method.nil? || @method == :get ? @implied || "GET" : @method.to_s.upcase)
      set_up_url
      set_up_body
      set_up_time_condition
      resume if @resumes
      @later&.each { |name, text| add_header(name, text) unless header?(name) }
      @redirects = most_redirects if @follow
    end

    def most_redirects
      most = @most_redirects || 50
      most.negative? ? MOST_REDIRECTS : most
    end

    # libcurl takes http for granted, and takes "/../" and "/./" out of paths. Nearly all URLs are returned as they are.
    def absolute(url)
      return url if url.start_with?("http://".freeze, "https://".freeze) && !url.include?("/.".freeze)

      url = "http://#{url}" unless url.match?(%r{\A[a-zA-Z][a-zA-Z0-9+.\-]*://})
      @path_as_is ? url : Query.without_dots(url)
    end

    def set_up_url
      @url = Query.join(@url, @params, @params_encoding, @escape != false) if @params
      @url = absolute(@url)
      return unless @port&.positive?

      @url = @url.sub(%r{\A(\w+://(?:[^/?#@]*@)?(?:\[[^\]]*\]|[^:/?#]*))(?::\d*)?}) { "#{$1}:#{@port}" }
    end

    def set_up_body
      return if @verb == "HEAD" || (Form.empty?(@given_body) && @verb != "POST" && @verb != "PUT")

      pairs = Query.pairs(@given_body, @params_encoding) if @given_body.is_a?(Hash) || @given_body.is_a?(Array)
      return @multipart = Form.parts(pairs) if pairs&.any? && (@wants_multipart || Form.files?(pairs))

      put = @verb == "PUT"
      # A String, or a body that is read while it is sent, is sent as it is.
      @body = pairs ? Query.joined(pairs, put || @escape != false) : @given_body || ""
      @body = [@body] if @body.is_a?(String) && chunked?
      add_header("Content-Type", FORM) unless put || header?("content-type")
    end

    def set_up_time_condition
      return unless @time_condition && @time_condition != :none

      require "time"
      name = @time_condition == :ifmodsince ? "If-Modified-Since" : "If-Unmodified-Since"
      add_header_once(name, Time.at(@time_value || 0).httpdate)
    end

    def resume
      if header?("range") || @later&.any? { |name, _| name == "Range" }
        Refusals.value(:resume_from, @resumes, "It stands beside a Range of your own: leave one of the two out.")
      end

      add_header("Range", "bytes=#{@resumes}-")
    end

    # Whether a header says so. A String is not sent in chunks by itself.
    def chunked?
      @headers&.any? { |name, value| name.casecmp?("transfer-encoding") && value&.casecmp?("chunked") }
    end

    def header?(name) = @headers ? @headers.any? { |other, _| other.casecmp?(name) } : false
  end
end
