# One Hecaton::Client for all requests of the same settings, so that connections are reused.
require_relative "../client_cache"

module Hecaton::Typhoeus
  # Requests' options that are settings of a client (proxy, cainfo, connecttimeout, …) choose one here. Safe with
  # threads and fork, as clients are.
  module Clients
    # Seconds that a request without a timeout may take.
    TIMEOUT = 300
    # How many clients are held at most; the one that was used longest ago is closed for another.
    MOST = 64
    # Settings that all clients share, as near to libcurl's defaults as can be.
    DEFAULTS = { timeout: TIMEOUT, connect_timeout: TIMEOUT, decode: false, user_agent: USER_AGENT,
                 redirects_to_http: true, max_body: 2**31, lenient: true }.freeze

    @lock = Mutex.new
    @cache = Hecaton::ClientCache.new(MOST) { |settings, _stamps| make(settings) }

    # The one without settings of its own.
    def self.default = @default || @lock.synchronize { @default ||= make({}) }

    # The one for these settings. stamps is what else it depends on: the files that the settings name.
    def self.for(settings, stamps = nil) = @cache.lease([settings, stamps]).client

    # How many there are, but for the default.
    def self.size = @cache.size

    # A client that is not shared; the caller closes it.
    def self.make(settings) = Hecaton::Client.new(**DEFAULTS, features: Config.features, **settings)

    # Closes connections that wait to be used again.
    def self.clear
      @default&.close
      @cache.clear
    end

    # Closes all, for what holds for all of them has changed.
    def self.forget
      Plan.forget
      clear
      @lock.synchronize { @default = nil }
    end

    # Says once that a request without a timeout has one all the same.
    def self.warn_of_timeout
      return if @warned

      @warned = true
      warn "hecaton/typhoeus: a request without timeout ends after #{TIMEOUT} s here; " \
        "say how long it may take, by the " \
        "option timeout or by Typhoeus::Config.timeout"
    end
  end

  # In Typhoeus a pool of libcurl's handles, of which there are none here: connections belong to Clients.
  module Pool
    # Closes all connections that wait to be used again.
    def self.clear = Clients.clear

    %i[get release with_easy].each do |name|
      define_singleton_method(name) do |*|
        raise Errors::TyphoeusError,
          "Typhoeus::Pool.#{name}: there are no handles of libcurl here: use Typhoeus::Request"
      end
    end
  end
end
