# The settings of a Hecaton::Persistent, with the names and defaults of net-http-persistent.

class Hecaton::Persistent
  # Included by Persistent. Each writer holds from the next request on; connections made for other settings are
  # closed. A time that is set again to what it is closes none.
  module Settings
    # Handed to each Hecaton::NetHTTP, which honours or refuses them.
    TLS = %i[
      ca_file ca_path cert_store ciphers extra_chain_cert ssl_timeout ssl_version min_version max_version
      verify_callback verify_depth verify_mode verify_hostname
    ].freeze
    TIMES = %i[open_timeout read_timeout write_timeout idle_timeout total_timeout].freeze
    OTHERS = %i[certificate private_key debug_output max_requests reuse_ssl_sessions retry_change_requests ignore_eof
                max_retries].freeze
    private_constant :TLS, :TIMES, :OTHERS

    # Seconds, or nil for no limit but the total:
    # open_timeout:: to resolve, to connect, and for TLS, each; default nil, which is Net::HTTP's 60.
    # read_timeout:: to wait for the response, and between two pieces of its body; default nil, which is Net::HTTP's
    #   60.
    # write_timeout:: to write the whole request; default nil.
    # idle_timeout:: how long an unused connection stays open; default 5, 0 closes it at once, nil leaves that to the
    #   server.
    # total_timeout:: for the request in all; default nil, see Hecaton::NetHTTP.total_timeout.
    (TLS + TIMES + OTHERS).each do |name|
      attr_reader name

      define_method(:"#{name}=") do |value|
        value = checked_retries(value) if name == :max_retries
        # Programs set the times before each request, as net-http-persistent allows without new connections.
        same = TIMES.include?(name) && public_send(name) == value
        instance_variable_set(:"@#{name}", value)
        (@given ||= {})[name] = true
        reconnect unless same
      end
    end
    alias cert certificate
    alias cert= certificate=
    alias key private_key
    alias key= private_key=

    # String or nil: what the object was named.
    attr_reader :name
    # Hash: added to the headers of every request, beside those of the same name that it has.
    attr_reader :headers
    # Hash: which replace those of a request.
    attr_reader :override_headers
    # Hash of "host:port" and the version of HTTP that was used last.
    attr_reader :http_versions
    # Integer: the value of the Keep-Alive header of requests. Default 30.
    attr_accessor :keep_alive
    # Array of options of sockets; only its default, TCP_NODELAY, can be honoured.
    attr_reader :socket_options
    # Integers that grow when settings change, and with them the connections.
    attr_reader :generation
    alias ssl_generation generation

    # Has the next requests open connections of their own; those that run end on theirs. Returns nil.
    def reconnect
      @generation += 1
      @sessions = {}.freeze
      @pool.clear
    end
    alias reconnect_ssl reconnect

    private

    def defaults
      @headers = {}
      @override_headers = {}
      @socket_options = NO_DELAY.dup
      @keep_alive = 30
      @idle_timeout = 5
      @generation = 0
      @max_retries = 1
      @verify_mode = OpenSSL::SSL::VERIFY_PEER
      @reuse_ssl_sessions = true
      @retry_change_requests = false
      @no_proxy = []
    end

    NO_DELAY = [[Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1].freeze].freeze
    private_constant :NO_DELAY

    def checked_retries(value)
      count = value.to_int
      raise ArgumentError, "max_retries must be positive" if count.negative?

      count
    end

    # A Hecaton::NetHTTP for a host, with these settings.
    def session(use_ssl, host, port, proxy)
      refuse
      http = Hecaton::NetHTTP.new(host, port, *proxy)
      http.set_debug_output(debug_output) if debug_output
      http.use_ssl = use_ssl
      given = %i[open_timeout read_timeout write_timeout] + (use_ssl ? TLS : [])
      given.each { |name| http.public_send(:"#{name}=", public_send(name)) unless public_send(name).nil? }
      http.cert, http.key = certificate, private_key if use_ssl && certificate && private_key
      http.total_timeout = total_timeout
      http.keep_alive_timeout = idle_timeout
      http.max_retries = max_retries if @given&.key?(:max_retries)
      http.hecaton_repeated = %w[POST PATCH] if retry_change_requests
      http.hecaton_ignore_eof = ignore_eof
      http.hecaton_pool = @pool
      http.start
    end

    def refuse
      refuse_setting(:max_requests, "connections are replaced by their idle time alone") if max_requests
      refuse_setting(:reuse_ssl_sessions, "TLS sessions are kept by the engine") unless reuse_ssl_sessions
      return if socket_options == NO_DELAY

      refuse_setting(:socket_options, "sockets are the engine's, which sets TCP_NODELAY itself")
    end

    def refuse_setting(name, why) = Hecaton::NetHTTP::Settings.refuse_setting(name, why)
  end
end
