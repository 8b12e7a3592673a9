# The options of a request → the client that sends it, and what that is told.
module Hecaton
  module Typhoeus
    # Made for each request that is more than a plain GET.
    class Plan
      include OptionValues
      include Authentication
      include ProxyOptions
      include TlsOptions
      include ClientOptions
      include RequestOptions

      # Option → who takes it; nil for those that there is nothing to do for, because Hecaton does it anyhow, or because they
      # say how much memory, and never what is sent or answered.
      TAKERS = {
        method: :set_method, body: :set_body, params: :set_params, headers: :set_headers, params_encoding: :set_params_encoding,
        escape: :set_escape, multipart: :set_multipart, timeout: :set_timeout, timeout_ms: :set_timeout_ms,
        connecttimeout: :set_connecttimeout, connecttimeout_ms: :set_connecttimeout_ms,
        followlocation: :set_followlocation, maxredirs: :set_maxredirs, cookie: :set_cookie, referer: :set_referer,
        useragent: :set_useragent, range: :set_range, resume_from: :set_resume_from, resume_from_large: :set_resume_from,
        timecondition: :set_timecondition, timevalue: :set_timevalue, customrequest: :set_customrequest, nobody: :set_nobody,
        httpget: :set_httpget, post: :set_post, put: :set_put, upload: :set_put, port: :set_port, failonerror: :set_failonerror,
        verbose: :set_verbose, protocols: :set_protocols, redir_protocols: :set_redir_protocols,
        postfields: :set_body, copypostfields: :set_body, set_read_callback: :set_body,
        postredir: :set_postridir, post301: :set_postridir, transfer_encoding: :set_encoding_of_transfer,
        userpwd: :set_userpwd, username: :set_username, password: :set_password, httpauth: :set_httpauth,
        proxy: :set_proxy, proxyport: :set_proxyport, proxytype: :set_proxytype, proxyuserpwd: :set_proxyuserpwd,
        proxyusername: :set_proxyusername, proxypassword: :set_proxypassword, proxyauth: :set_proxyauth, noproxy: :set_noproxy,
        httpproxytunnel: :set_httpproxytunnel,
        ssl_verifypeer: :set_ssl_verifypeer, ssl_verifyhost: :set_ssl_verifyhost, cainfo: :set_cainfo, capath: :set_capath,
        sslcert: :set_sslcert, sslkey: :set_sslkey, keypasswd: :set_keypasswd, sslcertpasswd: :set_keypasswd,
        sslkeypasswd: :set_keypasswd, sslcerttype: :set_type, sslkeytype: :set_type, sslversion: :set_sslversion,
        pinnedpublickey: :set_pinnedpublickey, pinned_public_key: :set_pinnedpublickey,
        forbid_reuse: :set_forbid_reuse, fresh_connect: :set_forbid_reuse, maxconnects: :set_maxconnects,
        accept_encoding: :set_accept_encoding, http_content_decoding: :set_http_content_decoding, http_version: :set_http_version,
        resolve: :set_resolve, ipresolve: :set_ipresolve, unix_socket_path: :set_unix_socket_path, unix_socket: :set_unix_socket_path,
        maxfilesize: :set_maxfilesize, maxfilesize_large: :set_maxfilesize, low_speed_limit: :set_low_speed_limit,
        low_speed_time: :set_low_speed_time,
        cookiefile: :set_cookiefile, cookiejar: :set_cookiejar, cookiesession: :set_cookiesession, cookielist: :set_cookielist,
        netrc: :set_off, netrc_file: :set_refused, autoreferer: :set_off, unrestricted_auth: :set_off, path_as_is: nil,
        tcp_nodelay: :set_on, tcp_keepalive: :set_off, ssl_sessionid_cache: nil, dns_cache_timeout: nil, dns_use_global_cache: nil,
        pipewait: nil, buffersize: nil, nosignal: nil, noprogress: nil, infilesize: nil, infilesize_large: nil, postfieldsize: nil,
        postfieldsize_large: nil, cache: nil, cache_ttl: nil
      }.freeze
      private_constant :TAKERS

      # The Hecaton::Client, and the arguments of its `request`.
      attr_reader :client, :verb, :url, :headers, :body, :timeout, :redirects, :basic_auth, :digest_auth, :multipart
      # Cookies that are read from files and written to one, nil for none.
      attr_reader :cookies

      def initialize(request)
        @url = request.base_url.to_s
        request.raw_options.each { |name, value| take(name.to_sym, value) unless value.nil? }
        set_up_request
        authenticate if @userpwd || @username || @password
        set_up
        Clients.warn_of_timeout unless @timeout
        @client = choose_client
      end

      # Whether a status of 400 or more is a failure, and whether heads are printed.
      def fail_on_error? = @fail_on_error
      def verbose? = @verbose

      # What may not be asked by `protocols`: the outcome then, else nil.
      def forbidden
        return if @protocols.nil? || @protocols.include?(@url[/\A\w+/].downcase.to_sym)

        Hecaton::URLError.new("URL #{@url.inspect} has the scheme of a protocol that is not among the option protocols", phase: :queue)
      end

      # Calls `request` of a client or a batch with all of it.
      def request(target, &block)
        if @digest_auth
          return target.request(@verb, @url, headers: @headers, body: @body, timeout: @timeout, redirects: @redirects,
                                             digest_auth: @digest_auth, multipart: @multipart, &block)
        end
        target.request(@verb, @url, headers: @headers, body: @body, timeout: @timeout, redirects: @redirects,
                                    basic_auth: @basic_auth, multipart: @multipart, &block)
      rescue ArgumentError => error
        raise if error.backtrace_locations&.first&.path&.include?("/typhoeus/")
        raise Hecaton::URLError.new(error.message, phase: :queue) if error.message.start_with?("URL ")

        Refusals.value(:headers, "[hidden]", "Hecaton cannot send it: #{error.message}.")
      end

      # Writes the cookies, and closes the client that they had for themselves.
      def finish
        return unless @cookies

        CookieFiles.write(@cookie_jar, @cookies) if @cookie_jar
        @client.close
      end

      private

      def take(name, value)
        if TAKERS.key?(name)
          taker = TAKERS[name]
          taker && send(taker, name, value)
        elsif (new_name = EasyFactory::RENAMED_OPTIONS[name])
          warn("Deprecated option #{name}. Please use #{new_name} instead.")
          take(new_name, value)
        else
          Refusals.option(name)
        end
      end

      # The rest that is said in more than one option.
      def set_up
        connect_within(@connect_within) if @connect_within
        set_up_decoding if @accept_encoding
        set_up_low_speed if @low_speed_time
        set_up_proxy if @proxy || @proxy_userpwd || @proxy_user || @proxy_port
        set_up_tls
        set_up_cookies if @cookie_files || @cookie_jar || @cookie_list
      end

      def setting(name, value) = (@settings ||= {})[name] = value

      # Cookies are those of one request: no client has them that another request asks, too.
      def choose_client
        return Clients.make((@settings || {}).merge(cookies: @cookies)) if @cookies

        @settings ? Clients.for(@settings) : Clients.default
      end

      def set_cookiefile(_name, value) = (@cookie_files ||= []) << value.to_s
      def set_cookiejar(_name, value) = @cookie_jar = value.to_s
      def set_cookiesession(_name, value) = @cookie_session = on?(value)
      def set_cookielist(_name, value) = (@cookie_list ||= []).concat(Array(value))

      def set_up_cookies
        @cookies = Hecaton::Cookies.new
        @cookie_files&.each { |path| CookieFiles.read(path, @cookies) }
        @cookie_list&.each { |line| CookieFiles.take(line.to_s, @cookies, @url) }
      end

      def set_off(name, value)
        only(name, value, !on?(value) || value.to_s == "ignored", "Hecaton cannot do it: leave the option out.")
      end

      def set_on(name, value) = only(name, value, on?(value), "Hecaton always does it: leave the option out.")

      def set_refused(name, value) = only(name, value, false, "Hecaton cannot do it: leave the option out.")
    end
  end
end
