# The facts that led to an outcome: attempts, redirects, times.
module Hecaton
  # One try. Durations are Floats in seconds. A duration is nil if its phase was not reached or not needed. A reused
  # connection has no resolve_time, connect_time and tls_time. There is a queue_time only if connections are limited,
  # no stream was free, or a silent connection had to show that it is alive.
  #
  # - connection: number of the connection, unique within the client; nil if there was none
  # - reused: whether the connection had carried a request before
  # - sent: whether any byte of the request was written
  # - phase: the phase reached last, a Symbol of Native::PHASES
  # - ending: :status (a response came), :failed, :unfinished (given up), or :resent: the request was sent once more on
  #   another connection. The server certainly did nothing with it: either the pooled connection was closed before a
  #   byte was written, or an HTTP/2 server said so. Or the request is idempotent, and its connection ended before a
  #   byte of the response (see reconnect of Client.new).
  # - status: the status code, nil before the head of a response came; with :failed the body did not come whole
  # - version: of HTTP, "1.1", "2" or "3"; nil when the request was not begun
  # - redirects: how many were followed before it
  # - begun, ended: seconds from the start of the request; ended is nil for what was given up
  # - peer: the Endpoint that was connected to, nil when none was. Through a proxy it is the proxy
  # - local: the Endpoint of this side
  # - tls: TLS, what the handshake with the origin agreed on; nil without TLS, and before the handshake is complete
  Attempt = Struct.new(
    :connection, :reused, :sent, :phase, :ending, :status,
    :queue_time, :resolve_time, :connect_time, :tls_time, :send_time, :first_byte_time, :read_time, :version,
    :redirects, :begun, :ended, :peer, :local, :tls,
    keyword_init: true
  ) do
    alias_method :reused?, :reused
    alias_method :sent?, :sent

    # A copy that began and ended so many seconds later.
    def later(seconds) = dup.tap { |copy| copy.begun += seconds; copy.ended &&= ended + seconds } # :nodoc:
  end

  # One end of a connection: address is the IP address (a String) and port its port (an Integer). For a Unix socket
  # address is its path, and port is nil.
  Endpoint = Struct.new(:address, :port, keyword_init: true) do
    # As in a URL: "127.0.0.1:80", "[::1]:80"; of a Unix socket the path.
    def to_s
      return address unless port

      address.include?(":") ? "[#{address}]:#{port}" : "#{address}:#{port}"
    end
  end

  # The result of a TLS handshake. Equal if all of it is.
  class TLS
    # String: the version of TLS, "1.2" or "1.3".
    attr_reader :version
    # String: the cipher suite by its name in IANA's registry, "TLS_AES_128_GCM_SHA256" and the like; nil over HTTP/3,
    # where it is not known.
    attr_reader :cipher
    # String: the protocol that the server chose (ALPN), "h2" or "http/1.1"; nil when it chose none.
    attr_reader :alpn

    # By hand, for tests. der: an Array of certificates in DER.
    def initialize(version:, cipher:, alpn: nil, der: [])
      @version = version
      @cipher = cipher
      @alpn = alpn
      @source = [der]
      @index = 0
    end

    # Itself, with the certificates of the attempt with this index in a source.
    def from(source, index) # :nodoc:
      @source = source
      @index = index
      self
    end

    # Array of Strings: the server's certificates in DER as it sent them, its own first. They are copied each time,
    # because most programs do not need them.
    def der = @source[@index]

    # Array of OpenSSL::X509::Certificate: the same, made each time.
    def certificates
      Library.load("openssl")
      der.map { |certificate| OpenSSL::X509::Certificate.new(certificate) }
    end

    # OpenSSL::X509::Certificate: the server's own.
    def certificate = certificates.first

    # Equal in everything.
    def ==(other)
      other.is_a?(TLS) && version == other.version && cipher == other.cipher && alpn == other.alpn && der == other.der
    end
    alias eql? ==

    # Integer: the same for equal ones.
    def hash = [version, cipher, alpn, der].hash

    # Loads what certificates needs, so that it works in other Ractors too.
    def freeze
      Library.load("openssl")
      super
    end

    # Without the certificates.
    def inspect = "#<Hecaton::TLS #{[version, cipher, alpn].compact.join(", ")}>"
  end

  # A redirect that was followed: the requested URL (a String), and its status (an Integer).
  Redirect = Struct.new(:status, :url, keyword_init: true) do
    # String: the method of the request after this redirect, if this method was redirected (RFC 9110 §15.4).
    def method_after(method)
      case status
      when 303 then method == "HEAD" ? method : "GET"
      when 301, 302 then method == "POST" ? "GET" : method
      else method
      end
    end
  end

  # Where the time of a request went, in seconds as Floats. The phases are those of its last attempt (nil for a phase
  # that was not needed); total_time covers all attempts, from start to end.
  Timings = Struct.new(
    :queue_time, :resolve_time, :connect_time, :tls_time, :send_time, :first_byte_time, :read_time, :total_time,
    keyword_init: true
  )
end
