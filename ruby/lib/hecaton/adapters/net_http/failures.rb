# An error of Hecaton's → what Net::HTTP would have raised.

class Hecaton::NetHTTP
  # The messages begin as Net::HTTP's do, where programs look at them.
  module Failures
    OPENING = %i[queue resolve connect tls].freeze
    # Reasons of a connection or a body that ended.
    CUT = %i[connection_closed body_cut_short].freeze
    # Reasons of which OpenSSL would say that the certificate could not be verified, or might have.
    UNVERIFIED = %i[
      certificate_expired certificate_not_yet_valid certificate_untrusted certificate_wrong_host certificate_revoked
      certificate_not_pinned certificate_invalid handshake_refused
    ].freeze
    # How Ruby names an address, which Ruby 3.1 did otherwise.
    OF_OLD = ->(host, port) { "#{host.include?(":") ? "[#{host}]" : host}:#{port}" }
    SAID = Net::HTTP::VERSION.start_with?("0.2.") ? OF_OLD : ->(host, port) { "#{host.inspect} port #{port}" }
    private_constant :OPENING, :CUT, :UNVERIFIED, :OF_OLD, :SAID

    module_function

    # Raises it, with the error as its cause.
    def raise_for(error, http) = raise(exception(error, http), cause: error)

    # An Exception.
    def exception(error, http)
      case error
      when Hecaton::TimeoutError then timeout(error)
      when Hecaton::ResolveError then unresolved(http, error.message)
      when Hecaton::ConnectError then unconnected(error, http)
      when Hecaton::TLSError then tls(error)
      when Hecaton::ProtocolError, Hecaton::BodyError then broken(error)
      else IOError.new(error.message)
      end
    end

    # By its phase; of the total by the phase that it cut off.
    private_class_method def timeout(error)
      phase = error.phase == :total ? error.attempts.last&.phase || :connect : error.phase
      kind = OPENING.include?(phase) ? Net::OpenTimeout : phase == :send ? Net::WriteTimeout : Net::ReadTimeout
      said = error.phase == :total ? "total_timeout passed: #{error.message}" : error.message
      kind.new.exception("#{kind} (#{said})")
    end

    # A name without an address.
    def unresolved(http, why)
      kind = defined?(Socket::ResolutionError) ? Socket::ResolutionError : SocketError
      kind.new("Failed to open TCP connection to #{address(http)} (getaddrinfo: #{why})")
    end

    private_class_method def unconnected(error, http)
      system = error.cause
      if system.is_a?(Errno::ETIMEDOUT) then Net::OpenTimeout.new.exception(opening(error.message, http))
      elsif system.is_a?(SystemCallError)
        said = SAID.call(*address(http).match(/\A(.*):(\d+)\z/).captures)
        system.exception(opening("#{system.message} - connect(2) for #{said}", http))
      elsif error.reason == :proxy_refused then refused_by_proxy(error)
      elsif error.phase == :tls then tls(error)
      else Errno::ECONNREFUSED.new.exception(opening(error.message, http))
      end
    end

    # As Net::HTTPResponse#value, which Net::HTTP calls on the proxy's response.
    private_class_method def refused_by_proxy(error)
      status = error.message[/\bstatus (\d{3})/, 1]
      response = Incoming.response(status.to_i, "1.1")
      response.error_type.new("#{status} #{response.message.dump} (#{error.message})", response)
    end

    # Programs look for "certificate verify failed".
    private_class_method def tls(error)
      verify = "certificate verify failed: " if UNVERIFIED.include?(error.reason)
      OpenSSL::SSL::SSLError.new("SSL_connect: #{verify}#{error.message}")
    end

    private_class_method def broken(error)
      return error.cause.exception("#{error.cause.message} - #{error.message}") if error.cause.is_a?(SystemCallError)
      return IOError.new(error.message) if error.is_a?(Hecaton::BodyError) && error.phase == :send
      return EOFError.new("end of file reached (#{error.message})") if CUT.include?(error.reason)

      Net::HTTPBadResponse.new(error.message)
    end

    private_class_method def opening(why, http) = "Failed to open TCP connection to #{address(http)} (#{why})"

    # Where a connection was tried to: the proxy, if there is one.
    def address(http)
      http.proxy? ? "#{http.proxy_address}:#{http.proxy_port}" : "#{http.ipaddr || http.address}:#{http.port}"
    end
    private_class_method :address
  end
end
