# A Net::HTTPGenericRequest → method, URL, headers and body for Client#request.
module Hecaton
  class NetHTTP
    # One for each request that is sent. What Net::HTTP writes into the request object when it sends it (Host, Content-Length,
    # Content-Type) is written there too.
    class Outgoing
      # What the engine says itself, from the body.
      FRAMING = { "content-length" => true, "transfer-encoding" => true }.freeze
      # These prove who a connection belongs to, and connections here belong to nobody.
      OF_CONNECTIONS = /\A(?:NTLM|Negotiate)\b/i
      private_constant :FRAMING, :OF_CONNECTIONS

      # What Client#request_flat takes.
      attr_reader :verb, :url, :headers, :body

      # authority is the host and port as in Host.
      def initialize(http, request, authority)
        @http = http
        @request = request
        request.update_uri(http.address, http.port, http.use_ssl?) if request.uri
        @fields = request.instance_variable_get(:@header) # As Net::HTTPHeader keeps them: { "name" => ["value"] }.
        @fields["host"] ||= [authority]
        @verb = request.method
        @url = "#{http.use_ssl? ? "https" : "http"}://#{authority}#{path}"
        @body = content
        @headers = flat(authority)
      end

      # To be called when the request has ended.
      def finish = @file&.close!

      private

      def path
        path = @request.path
        return path if path.start_with?("/") && !path.match?(/[\r\n]/)
        raise ArgumentError, "A Request-Line must not contain CR or LF" if path.match?(/[\r\n]/)

        raise Refused, "the path #{path[/\A[^?#]*/].inspect} does not begin with a slash: Hecaton::NetHTTP asks for \"/…\" alone " \
                       "(for a proxy use proxy_address)"
      end

      def flat(authority)
        flat = []
        @fields.each do |name, values|
          next if FRAMING[name]

          value = values.size == 1 ? values[0] : values.join(", ")
          next if name == "host" && value == authority

          refuse_authorization(value) if name == "authorization"
          flat.push(name, value)
        end
        flat
      end

      def refuse_authorization(value)
        return unless value.match?(OF_CONNECTIONS)

        raise Refused, "Authorization #{value[/\A\w+/]} cannot be honoured: it belongs to one connection, and these are shared by " \
                       "all requests. Use Net::HTTP for it"
      end

      # What Net::HTTPGenericRequest#exec would write.
      def content
        form = @request.instance_variable_get(:@body_data)
        if (body = @request.body) then whole(body)
        elsif (stream = @request.body_stream) then streamed(stream)
        elsif form then encoded(form)
        end
      end

      def whole(body)
        @request.content_length = body.bytesize
        @request.delete("Transfer-Encoding")
        @request.send(:supply_default_content_type)
        body
      end

      def streamed(stream)
        length = @request.content_length
        chunked = @request.chunked?
        raise ArgumentError, "Content-Length not given and Transfer-Encoding is not `chunked'" unless length || chunked

        @request.send(:supply_default_content_type)
        Upload.of(stream, chunked ? nil : length, patience)
      end

      def encoded(form)
        return multipart(form) if @request.content_type&.match?(%r{\Amultipart/form-data\z}i)

        @request.content_type = "application/x-www-form-urlencoded"
        whole(URI.encode_www_form(form))
      end

      # Written to a file first, as Net::HTTP does where it is not sent in chunks.
      def multipart(form)
        require "securerandom"
        require "tempfile"
        options = @request.instance_variable_get(:@form_option).dup
        options[:boundary] ||= SecureRandom.urlsafe_base64(40)
        @request.set_content_type(@request.content_type, boundary: options[:boundary])
        chunked = @request.chunked?
        @file = Tempfile.new("multipart")
        @file.binmode
        unframed.send(:encode_multipart_form_data, @file, form, options)
        @file.rewind
        @request.content_length = @file.size unless chunked
        Upload.of(@file, chunked ? nil : @file.size, patience)
      end

      # See Upload.of.
      def patience = @http.total_timeout || NetHTTP.total_of(0)

      # The request without its Transfer-Encoding, whose chunks the engine makes.
      def unframed
        return @request unless @request.chunked?

        copy = @request.dup
        copy.initialize_http_header(nil)
        copy
      end
    end
  end
end
