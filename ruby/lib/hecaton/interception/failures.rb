# Turns the exceptions that a stub is to raise into the Error that a program sees instead.
require_relative "../error"

module Hecaton
  module Interception
    # Exceptions of the operating system and of Ruby's own libraries never leave a client: each becomes an Error.
    module Failures # :nodoc: all
      # Class of the error, its phase and whether something was sent, by the names of classes that may not be loaded.
      KINDS = {
        **%w[ECONNREFUSED EHOSTUNREACH ENETUNREACH EADDRNOTAVAIL EHOSTDOWN].to_h do |name|
          ["Errno::#{name}", [ConnectError, :connect, false]]
        end,
        "Net::OpenTimeout" => [TimeoutError, :connect, false], "Net::WriteTimeout" => [TimeoutError, :send, true],
        "Net::ReadTimeout" => [TimeoutError, :first_byte, true], "Timeout::Error" => [TimeoutError, :total, true],
        "Errno::ETIMEDOUT" => [TimeoutError, :connect, false], "SocketError" => [ResolveError, :resolve, false],
        "OpenSSL::SSL::SSLError" => [TLSError, :tls, false], "SystemCallError" => [ProtocolError, :first_byte, true],
        "IOError" => [ProtocolError, :first_byte, true]
      }.freeze
      private_constant :KINDS

      module_function

      # Error for an exception (or its class). An error of Hecaton is returned unchanged, and an error of the network
      # becomes the cause of a new Error. For any other exception returns nil. url is the URL of the request.
      def of(exception, url)
        return by_class(exception, url) if exception.is_a?(Class)
        return exception if exception.is_a?(Error)

        kind, phase, sent = KINDS.values_at(*exception.class.ancestors.map(&:name)).compact.first
        kind&.new(exception.message, phase: phase, sent: sent, url: url.sub(/[?#].*\z/m, ""), cause: exception)
      end

      # A TimeoutError of a stub without further facts.
      def timeout(url)
        url = url.sub(/[?#].*\z/m, "")
        TimeoutError.new("#{url}: the total time is over, a stub says", phase: :total, sent: true, url: url)
      end

      private_class_method def by_class(kind, url)
        return of(kind.new("a stub says so"), url) unless kind <= Error
        if kind <= StatusError
          raise ArgumentError, "a StatusError needs a response: give one of that status, and raise_for_status"
        end

        phase, sent = PHASES.fetch(kind, [:first_byte, true])
        url = url.sub(/[?#].*\z/m, "")
        kind.new("#{url}: #{kind.name.split("::").last}, a stub says", phase: phase, sent: sent, url: url)
      end

      # The phases of errors that a stub names by their class.
      PHASES = { TimeoutError => [:total, true], ResolveError => [:resolve, false], ConnectError => [:connect, false],
                 TLSError => [:tls, false], BodyError => [:read, true], RedirectError => [:read, true],
                 URLError => [:queue, false] }.freeze
      private_constant :PHASES
    end
  end
end
