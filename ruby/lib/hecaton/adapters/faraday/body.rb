# The body and the headers of a request of Faraday's → those of Hecaton's.
require_relative "../upload"

class Faraday::Adapter::Hecaton
  # Faraday's middlewares say a body's length in the headers; the engine says it itself, from the body.
  module Body
    # Why a body with a length from a header is not sent again.
    ONCE = ->(_) { raise IOError, "a body that is read only once cannot be sent again" }
    private_constant :ONCE

    module_function

    # Body and headers as Hecaton::Client#request takes them.
    def of(body, headers)
      return [plain?(body) ? body : source(body, nil), headers] unless headers.any? { |name, _| framing?(name) }

      length = headers["Content-Length"]
      coding = headers["Transfer-Encoding"]
      headers = headers.reject { |name, _| framing?(name) }
      return [chunked(body, coding), headers] if coding

      check(body, length) if body.is_a?(String)
      [plain?(body) ? body : source(body, length), headers]
    end

    # Calls the block, then moves a file back to where it was, so that a middleware may send it again.
    def keeping_place(body)
      position = ::Hecaton::Upload.position(body)
      yield
    ensure
      return_to(body, position) if position
    end

    # Moves the file back to this position.
    def return_to(body, position)
      body.seek(position)
    rescue IOError, SystemCallError
      nil # Closed, or no file: it cannot be sent again anyway.
    end

    # Compares the length first, because this is called for every header of every request.
    private_class_method def framing?(name)
      case name.size
      when 14 then name.casecmp?("content-length")
      when 17 then name.casecmp?("transfer-encoding")
      end
    end

    private_class_method def plain?(body) = body.nil? || body.is_a?(String)

    private_class_method def source(body, length)
      return pipe(body, length) if body.respond_to?(:read) || pathname?(body)
      return body if body.respond_to?(:each) && !body.is_a?(Hash)

      Errors.refuse("the request's body is of class #{body.class}: " \
        "give a String, an IO, or an object whose each yields Strings, " \
        "or use a middleware that encodes it, such as :url_encoded or :multipart")
    end

    private_class_method def pipe(body, length)
      return body if pathname?(body) || (body.respond_to?(:pos) && body.respond_to?(:seek) && body.respond_to?(:size))
      return rewound(body) if body.respond_to?(:length) && body.respond_to?(:rewind)
      return body unless length

      size = Integer(length.to_s, 10, exception: false)
      return ::Hecaton::Upload::Sized.new(size, ONCE) { |most| body.read(most) } if size && size >= 0

      Errors.refuse("the header Content-Length is #{length.inspect}, " \
        "which is no number of bytes: give one, or leave it out")
    end

    # A body with a length that can be rewound but has no position: the composite IO of multipart.
    private_class_method def rewound(body)
      body.rewind
      back = lambda do |position|
        raise IOError, "a multipart body can only be read from its beginning" unless position.zero?

        body.rewind
      end
      ::Hecaton::Upload::Sized.new(body.length, back) { |most| body.read(most) }
    end

    private_class_method def chunked(body, coding)
      unless coding.casecmp?("chunked")
        Errors.refuse("Transfer-Encoding: #{coding} is not supported: give chunked, or leave it out")
      end
      return body && [body] if plain?(body)

      Errors.refuse("Transfer-Encoding: chunked with a Pathname is not supported: open the file") if pathname?(body)
      body.respond_to?(:size) && body.respond_to?(:read) ? ::Hecaton::Upload::Chunked.new(body.method(:read)) :
        source(body, nil)
    end

    private_class_method def check(body, length)
      return if length.to_s == body.bytesize.to_s

      Errors.refuse("the header Content-Length says #{length}, " \
        "but the body has #{body.bytesize} bytes: leave the header out")
    end

    private_class_method def pathname?(body) = ::Hecaton::BodySource.pathname?(body)
  end
end
