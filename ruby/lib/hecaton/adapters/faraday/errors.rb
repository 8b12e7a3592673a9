# An error of Hecaton's → the one of Faraday's that stands for it.
class Faraday::Adapter::Hecaton
  # Each has the error of Hecaton's as its cause, with the phase, the attempts and whether anything was sent.
  module Errors
    # Phases that open_timeout limits.
    OPENING = %i[resolve connect tls].freeze
    private_constant :OPENING

    module_function

    # The exception to raise for an error of Hecaton's, or for an argument that it refuses (ArgumentError), with its
    # cause and the caller's backtrace.
    def of(error, env = nil)
      error.set_backtrace(caller) unless error.backtrace
      url = error.url if error.is_a?(::Hecaton::Error)
      raise kind(error).new(error).exception(with_url(error.message, env, url)), cause: error
    rescue Faraday::Error => mapped
      mapped
    end

    # Raises Faraday's error for an option or a body that cannot be honoured.
    def refuse(sentence) = raise(Faraday::Error, sentence)

    # Calls the block, in which such an error names its request.
    def about(env)
      yield
    rescue Faraday::Error => error
      raise error.exception(with_url(error.message, env))
    end

    # The sentence with the method and the URL, but for what may be secret in it; as it is where it has the URL
    # already.
    private_class_method def with_url(sentence, env, url = nil)
      return sentence if env.nil? || sentence.start_with?("URL ") || (url && sentence.include?(url))

      shown = env.url.to_s.sub(/[?#].*/m, "").sub(%r{\A(\w+://)[^/@]*@}, "\\1")
      sentence.include?(shown) ? sentence : "#{sentence} (#{env.method.to_s.upcase} #{shown})"
    end

    # As Faraday's own adapter for Net::HTTP does: a connection that took too long to open is one that failed.
    private_class_method def kind(error)
      case error
      when ::Hecaton::TimeoutError
        OPENING.include?(error.phase) ? Faraday::ConnectionFailed : Faraday::TimeoutError
      when ::Hecaton::TLSError then Faraday::SSLError
      when ::Hecaton::URLError, ArgumentError then Faraday::Error
      when ::Hecaton::RedirectError then Faraday::ClientError
      else Faraday::ConnectionFailed
      end
    end
  end
end
