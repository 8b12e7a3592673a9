# The body of a response that an interceptor gave, as the engine would hand it over.
module Hecaton
  module Interception
    # Codings are taken off by what Ruby has.
    module Body
      # The first bytes of what zlib and gzip write.
      GZIP = "\x1F\x8B".b.freeze
      private_constant :GZIP

      module_function

      # A String in the encoding that its Content-Type names, UTF-8 for JSON, else of bytes. If `decoded`, a body that
      # really is gzip or deflate is decoded; stubs often have headers that were copied from elsewhere.
      def of(response, decoded)
        body = response.body.to_s.b
        body = plain(body, response.headers["content-encoding"].to_s.downcase) if decoded
        body.force_encoding(ContentType.encoding(response.headers["content-type"]))
      end

      def plain(body, coding)
        return body unless %w[gzip x-gzip deflate].include?(coding)

        require "zlib"
        if coding == "deflate" then Zlib::Inflate.inflate(body)
        elsif body.start_with?(GZIP) then Zlib.gunzip(body)
        else body
        end
      rescue Zlib::Error
        body # It only says so.
      end
      private_class_method :plain
    end
  end
end
