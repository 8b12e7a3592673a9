# A Net::HTTPGenericRequest → method, URL, headers and body for Client#request.

class Hecaton::NetHTTP
  # One for each request that is sent. Fields that Net::HTTP writes into the request object when it sends it (Host,
  # Content-Length, Content-Type) are written there too.
  class Outgoing
    # Fields that the engine derives from the body.
    FRAMING = { "content-length" => true, "transfer-encoding" => true }.freeze
    # These prove who a connection belongs to, and connections here belong to nobody.
    OF_CONNECTIONS = /\A(?:NTLM|Negotiate)\b/i
    private_constant :FRAMING, :OF_CONNECTIONS

    # What Client#request takes.
    attr_reader :verb, :url, :headers, :body

    # authority is the host and port as in Host.
    def initialize(http, request, authority)
      @http = http
      @request = request
      request.update_uri(http.address, http.port, http.use_ssl?) if request.uri
      request["host"] = authority if request["host"].nil? || without_brackets?(request["host"])
      @verb = request.method
      @url = "#{http.use_ssl? ? "https" : "http"}://#{authority}#{path}"
      @body = content
      @headers = fields(authority)
    end

    # To be called when the request has ended.
    def finish = @written&.close

    private

    # Old versions of net-http write the address of a URI so.
    def without_brackets?(host) = @http.address.include?(":") && host.start_with?(@http.address)

    def path
      path = @request.path
      raise ArgumentError, "A Request-Line must not contain CR or LF" if path.match?(/[\r\n]/)
      return path if path.start_with?("/")

      raise Refused,
        "the path #{path[/\A[^?#]*/].inspect} does not begin with a slash: Hecaton::NetHTTP requests \"/…\" alone " \
        "(for a proxy use proxy_address)"
    end

    def fields(authority)
      fields = {}
      @request.to_hash.each do |name, values|
        next if FRAMING[name]

        value = values.size == 1 ? values[0] : values.join(", ")
        next if name == "host" && value == authority

        refuse_authorization(value) if name == "authorization" && value.match?(OF_CONNECTIONS)
        fields[Hecaton::Headers.title(name)] = value # As Net::HTTP writes it, which keeps it in lower case.
      end
      fields
    end

    def refuse_authorization(value)
      raise Refused,
        "Authorization #{value[/\A\w+/]} cannot be honoured: it belongs to one connection, and these are shared by " \
        "all requests. Use Net::HTTP for it"
    end

    # The content that Net::HTTPGenericRequest#exec would write.
    def content
      if (body = @request.body) then whole(body)
      elsif (stream = @request.body_stream) then streamed(stream)
      elsif @request.request_body_permitted? || @request.key?("content-type") then form
      end
    end

    def whole(body)
      @request.content_length = body.bytesize
      @request.delete("Transfer-Encoding")
      supply_type
      body
    end

    def supply_type
      type = Written.default_type unless @request.key?("content-type")
      @request.content_type = type if type
    end

    def streamed(stream)
      length = @request.content_length
      chunked = @request.chunked?
      raise ArgumentError, "Content-Length not given and Transfer-Encoding is not `chunked'" unless length || chunked

      supply_type
      Upload.of(stream, chunked ? nil : length, patience)
    end

    # The content from set_form and set_form_data, which only a written request shows; nil if there is none.
    def form
      @written = Written.of(@request)
      return unless (length = @written.length)

      @request["content-type"] = @written.type
      return whole(@written.text) unless @request.content_type.casecmp?("multipart/form-data")

      chunked = @request.chunked?
      @request.content_length = length unless chunked
      Upload.of(@written.body, chunked ? nil : length, patience)
    end

    # See Upload.of.
    def patience = @http.total_timeout || Hecaton::NetHTTP.total_of(0)
  end
end
