# A request as interceptors see it: as it would go on the wire.
module Hecaton
  module Interception
    # Read-only. Host, Content-Length and Transfer-Encoding are among its headers only if the program has set them.
    class Request
      # String: "GET" and the like.
      attr_reader :http_method
      # String: the absolute URL with its query, without credentials and fragment.
      attr_reader :url

      # Headers: all that goes on the wire but the fields above.
      attr_reader :headers

      # fields: [name, value, name, value] as they go on the wire. content: String, BodySource or nil.
      def initialize(http_method, url, fields, content) # :nodoc:
        @http_method = http_method
        @url = url
        @headers = Headers.new(fields.map { |text| Request.text(text) }.each_slice(2).to_a)
        @content = content
      end

      # Bytes as UTF-8, if they are that.
      def self.text(bytes)
        text = bytes.dup.force_encoding(Encoding::UTF_8)
        text.valid_encoding? ? text : bytes
      end

      # String, nil for none. This call reads a body whole that is otherwise read while it is sent: an IO, a file, an
      # object with each. The body is sent nevertheless.
      def body = @content.is_a?(BodySource) ? @content.read : @content

      # Array of [name, value]: the query's parameters, decoded.
      def params
        require "uri"
        URI.decode_www_form(@url[/\?(.*)\z/m, 1].to_s)
      end

      # Hash: what interceptors need to remember of the request, by their names.
      def notes = @notes ||= {}

      # Method and URL, short.
      def inspect = "#<Hecaton::Interception::Request #{self}>"

      # String: method and URL.
      def to_s = "#{http_method} #{url}"
    end
  end
end
