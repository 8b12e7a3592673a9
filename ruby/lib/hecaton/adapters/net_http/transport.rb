# The overridden part of Net::HTTP: settings are noted, nothing is connected, and requests go to a client of Hecaton.

class Hecaton::NetHTTP
  # Put before NetHTTP's own methods, and by NetHTTP.replace! before those of Net::HTTP. Whether an object uses
  # Hecaton is decided when it is started.
  module Transport
    # Private methods of Net::HTTP that are replaced. If Net::HTTP had one of them no longer, requests would silently
    # bypass Hecaton.
    REPLACED = %i[connect transport_request].freeze
    missing = REPLACED.reject { |name| Hecaton::NetHTTP.superclass.private_method_defined?(name) }
    if missing.any?
      raise LoadError,
        "hecaton/net_http: net-http #{Net::HTTP::VERSION} has no #{missing.join(", ")}, which Hecaton stands in for: " \
        "use an older net-http, or Net::HTTP itself"
    end
    private_constant :REPLACED

    SETTERS = %i[
      open_timeout read_timeout write_timeout continue_timeout keep_alive_timeout max_retries ipaddr use_ssl local_host
      local_port proxy_from_env proxy_address proxy_port proxy_user proxy_pass proxy_use_ssl ignore_eof
      ca_file ca_path cert cert_store ciphers extra_chain_cert key ssl_timeout ssl_version min_version max_version
      verify_callback verify_depth verify_mode verify_hostname
    ].select { |name| Hecaton::NetHTTP.method_defined?(:"#{name}=") }.freeze
    private_constant :SETTERS

    # Notes which settings the program itself has set. Net::HTTP's defaults of some settings do not count.
    SETTERS.each do |name|
      define_method(:"#{name}=") do |value|
        @hecaton_lease = nil
        super(value)
        (@hecaton_given ||= {})[name] = true
      end
    end

    # Seconds that a request may take in all; nil (the default) for NetHTTP.total_timeout.
    attr_reader :total_timeout

    # Sets it; from the next request on.
    def total_timeout=(seconds)
      Hecaton::Client.seconds(seconds, :total_timeout)
      @hecaton_lease = nil
      @total_timeout = seconds
    end

    # The Clients that this object uses; nil for the shared ones.
    attr_accessor :hecaton_pool # :nodoc:

    # Methods whose requests may be sent again, beside the idempotent ones; nil for none.
    attr_accessor :hecaton_repeated # :nodoc:

    # The value of a setting if the program has set it, else nil.
    def hecaton_given(name) = (public_send(name) if @hecaton_given&.key?(name)) # :nodoc:

    # Whether the program accepts a body that was cut short, by setting ignore_eof.
    def hecaton_ignore_eof = @hecaton_ignore_eof || hecaton_given(:ignore_eof) # :nodoc:

    # Sets hecaton_ignore_eof where Net::HTTP has no ignore_eof.
    attr_writer :hecaton_ignore_eof # :nodoc:

    # As Net::HTTP's, but a request of an object that is not started does not send `Connection: close`.
    def request(request, body = nil, &block)
      return super if started? || !hecaton?

      begin
        @hecaton_at_once = true
        start { request(request, body, &block) }
      ensure
        @hecaton_at_once = nil
      end
    end

    # As Net::HTTP's. Without a block the body is read in one piece, not by a block of its own.
    def get(path, initheader = nil, dest = nil, &block)
      return super if block || dest || !hecaton?

      request(Net::HTTP::Get.new(path, initheader))
    end

    # The address that was set. Which one a connection has is the pool's business.
    def ipaddr = @hecaton ? @ipaddr : super

    # OpenSSL::X509::Certificate: the server's own, of the connection that the last response came on. nil without TLS.
    # Raises Refused as long as no connection is known: before the first response, if `start` opened none.
    def peer_cert
      return super unless @hecaton
      return unless use_ssl? && started?

      Settings.refuse_setting(:peer_cert,
        "it is known once a response has come: send a request first") unless @hecaton_record
      Hecaton::Response.from_engine(200, @hecaton_record, "").attempts.last&.tls&.certificate
    end

    # The record of the last response, or a Response in its place.
    attr_writer :hecaton_record # :nodoc:

    # Whether this object's requests go through Hecaton, or will when it is started.
    def hecaton? = started? ? @hecaton == true : is_a?(Hecaton::NetHTTP) || Hecaton::NetHTTP.replaced?

    private

    # Connects, as `start` promises, and gives the connection to the pool, for the first request. A request that follows
    # at once connects by itself. So does the first request if no idle connection is kept.
    def connect
      @hecaton = is_a?(Hecaton::NetHTTP) || Hecaton::NetHTTP.replaced?
      return super unless @hecaton

      @socket = @last_communicated = @hecaton_record = nil
      client = hecaton_client
      hecaton_open(client) unless @hecaton_at_once || keep_alive_timeout == 0
      on_connect
    end

    def hecaton_open(client)
      @hecaton_record = client.connect("#{use_ssl? ? "https" : "http"}://#{@hecaton_authority}/")
    rescue Hecaton::Error => error
      Failures.raise_for(error, self)
    end

    def transport_request(request, &block)
      return super unless @hecaton

      request["connection"] ||= "close" if @close_on_empty_response && !request.response_body_permitted?
      Exchange.run(self, hecaton_client, request, @hecaton_authority, @debug_output, &block)
    end

    def hecaton_client
      lease = @hecaton_lease
      return lease.client if lease && !lease.stale && @hecaton_generation == Hecaton::NetHTTP.generation

      @hecaton_generation = Hecaton::NetHTTP.generation
      lease = (hecaton_pool || Hecaton::NetHTTP.pool).lease(Settings.of(self))
      @hecaton_authority = addr_port.dup.freeze # Once the address is known to be one.
      @hecaton_lease = lease
      lease.client
    end
  end

  prepend Transport
end
