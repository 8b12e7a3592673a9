# How a Hecaton::Persistent sends requests.

class Hecaton::Persistent
  # Included by Persistent.
  module Requests
    # How many hosts have a started object at most. For a further host, all these objects are dropped and made anew
    # when needed. Connections do not depend on them.
    MOST_SESSIONS = 1000
    private_constant :MOST_SESSIONS

    # Sends a request and returns its Net::HTTPResponse; with a block yields that before its body is read.
    #
    # uri:: URI or String: scheme, host and port, and without a request the path of a GET.
    # request:: a Net::HTTPGenericRequest, or a URI for a GET of it.
    #
    # Raises Error when the connection was refused or the host is down, and what Net::HTTP raises else.
    def request(uri, request = nil, &block)
      uri = absolute(uri)
      request = request_setup(request || uri)
      response = session_for(uri) { |http| http.request(request, &block) }
      @http_versions["#{uri.hostname}:#{uri.port}"] ||= response.http_version
      response
    end

    # Yields a Connection, whose http is started; it may be used by other threads as well. Returns what the block
    # does.
    def connection_for(uri) = session_for(absolute(uri)) { |http| yield Connection.new(http) }

    # The request with this object's headers; a URI becomes a GET.
    def request_setup(request_or_uri)
      request =
        request_or_uri.respond_to?(:request_uri) ? Net::HTTP::Get.new(request_or_uri.request_uri) : request_or_uri
      unless request.is_a?(Net::HTTPGenericRequest)
        raise Hecaton::NetHTTP::Refused,
          "the request is a #{request.class}: give a Net::HTTP request, such as Net::HTTP::Post.new(\"/\")"
      end

      @headers.each { |name, value| request.add_field(name, value) }
      @override_headers.each { |name, value| request[name] = value }
      unless request.key?("connection")
        request["connection"] = "keep-alive"
        request.add_field("keep-alive", @keep_alive.to_s)
      end
      request
    end

    # "1.1", "2", or nil if no request went there yet.
    def http_version(uri)
      uri = URI(uri)
      @http_versions["#{uri.hostname}:#{uri.port}"]
    end

    # Closes all connections that wait, and those of running requests when they end. The object may be used again.
    # Returns nil.
    def shutdown = reconnect
    alias reload shutdown

    # Raises NetHTTP::Refused: HTTP/1.1 pipelining is not supported.
    def pipeline(_uri, _requests)
      refuse_setting(:pipeline, "requests are not pipelined; Hecaton::Client#batch sends many at once")
    end

    # Whether a request of this method may be sent twice without doing more than once (RFC 9110 §9.2.2).
    def idempotent?(request) = Hecaton::NetHTTP::Settings::IDEMPOTENT.include?(request.method)

    # Whether such a request is sent again when it fails.
    def can_retry?(request)
      repeated = @given&.key?(:max_retries) ? max_retries.positive? : false
      retry_change_requests || (repeated && idempotent?(request))
    end

    # These take a connection of net-http-persistent's apart. They raise NetHTTP::Refused.
    %i[pool timeout_key finish reset start ssl expired? error_message request_failed].each do |name|
      define_method(name) do |*|
        refuse_setting(name, "connections are the engine's; reconnect and shutdown close them")
      end
    end

    private

    # The URI, if requests can go to it. Raises NetHTTP::Refused for others.
    def absolute(given)
      uri = URI(given)
      return uri if uri.is_a?(URI::HTTP) && uri.hostname

      why = uri.is_a?(URI::HTTP) ? "it has no host" : "it is none of http or https"
      raise Hecaton::NetHTTP::Refused,
        "the URI #{given.to_s.inspect} cannot be requested, because #{why}: give an http or https URL"
    end

    def session_for(uri)
      yield session_at(uri.scheme.casecmp?("https"), uri.hostname, uri.port)
    rescue Errno::ECONNREFUSED, Errno::EHOSTDOWN => error
      what = error.is_a?(Errno::ECONNREFUSED) ? "connection refused" : "host down"
      host, port = proxy_for(uri.hostname, uri.port)
      raise Error, "#{what}: #{host || uri.hostname}:#{host ? port : uri.port}"
    end

    # The started Hecaton::NetHTTP for a host. One that another thread made at the same time is as good.
    def session_at(use_ssl, host, port)
      sessions = @sessions
      host_key = [use_ssl, host, port]
      sessions[host_key] || session(use_ssl, host, port, proxy_for(host, port)).tap do |http|
        others = sessions.size < MOST_SESSIONS ? sessions : {}
        @sessions = others.merge(host_key => http).freeze if sessions.equal?(@sessions)
      end
    end
  end
end
