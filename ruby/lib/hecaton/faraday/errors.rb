# An error of Hecaton's → the one of Faraday's that stands for it.
module Faraday
  class Adapter
    class Hecaton
      # Each has the error of Hecaton's as its cause, which says the phase, the attempts and whether anything was sent.
      module Errors
        # Phases that open_timeout limits.
        OPENING = %i[resolve connect tls].freeze
        private_constant :OPENING

        class << self
          # The exception to raise, with its cause and the caller's backtrace.
          def of(error)
            error.set_backtrace(caller) unless error.backtrace
            raise kind(error), error, cause: error
          rescue Faraday::Error => mapped
            mapped
          end

          # Raises Faraday's error for an option or a body that cannot be honoured.
          def refuse(sentence) = raise(Faraday::Error, sentence)

          private

          # As Faraday's own adapter for Net::HTTP does: a connection that took too long to open is one that failed.
          def kind(error)
            case error
            when ::Hecaton::TimeoutError then OPENING.include?(error.phase) ? Faraday::ConnectionFailed : Faraday::TimeoutError
            when ::Hecaton::TLSError then Faraday::SSLError
            when ::Hecaton::URLError then Faraday::Error
            when ::Hecaton::RedirectError then Faraday::ClientError
            else Faraday::ConnectionFailed
            end
          end
        end
      end
    end
  end
end
