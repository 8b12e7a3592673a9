# The arguments of a stub's returns → a Response or an Error.

module Hecaton::Testing
  # See Stub#returns.
  module Returns
    # A Response whose body comes in these pieces: Strings, and perhaps an Error as the last.
    class InPieces < Hecaton::Response
      # Array.
      attr_reader :pieces

      def initialize(pieces:, **facts)
        super(body: pieces.grep(String).join, **facts)
        @pieces = pieces
      end
    end

    module_function

    # Response or Error; raises what is neither one of Hecaton's nor the network's.
    def of(value, request)
      case value
      when Hecaton::Response, Hecaton::Error then value
      when nil then Hecaton::Response.new(status: 200)
      when Integer then Hecaton::Response.new(status: value)
      when String then Hecaton::Response.new(status: 200, body: value)
      when Hash then Hecaton::Testing.response(**value)
      when Exception, Class then failure(value, request)
      else called(value, request)
      end
    end

    def response(status, headers, content, facts) # :nodoc:
      raise ArgumentError, "#{content.keys.join(", ")} cannot be combined: give one" if content.size > 1
      if content.key?(:pieces)
        return InPieces.new(status: status, headers: headers, pieces: pieces(content[:pieces]), **facts)
      end
      unless content.key?(:json)
        return Hecaton::Response.new(status: status, headers: headers, body: content.fetch(:body, ""), **facts)
      end

      require "json"
      headers = [*headers.to_a, %w[Content-Type application/json]] unless Hecaton::Token.named?(headers, "content-type")
      Hecaton::Response.new(status: status, headers: headers, body: JSON.generate(content[:json]), **facts)
    end

    private_class_method def called(value, request)
      unless value.respond_to?(:call)
        raise TypeError,
          "a stub returns #{value.class}: give a Response, a Hash for one, a status, a body, or an exception"
      end

      of(value.call(request), request)
    rescue Hecaton::Error => error
      error
    end

    private_class_method def failure(value, request)
      unless value.is_a?(Exception) || value <= Exception
        raise TypeError, "a stub returns #{value}: give a class of exceptions, or an object"
      end

      Hecaton::Interception::Failures.of(value, request.url) || raise(value)
    end

    private_class_method def pieces(given)
      given.map do |piece|
        next piece if piece.is_a?(String)

        error = Hecaton::Interception::Failures.of(piece, "the stubbed body")
        error || raise(ArgumentError, "pieces has #{piece.inspect}: give Strings, and a Hecaton::Error as the last one")
      end
    end
  end
end
