# A request as interceptors see it: about as it would go on the wire.
module Hecaton
  module Interception
    # Read-only. Fields that the engine adds at the last moment are missing: Host, Content-Length and the like.
    class Request
      # String: "GET" and the like.
      attr_reader :http_method
      # String: the absolute URL with its query, without credentials and fragment.
      attr_reader :url

      # For the engine's stand-in. own are the fields of the request itself, [name, value, name, value].
      def initialize(http_method, url, own, content, sender)
        @http_method = http_method
        @url = url
        @own = own
        @content = content
        @headers = sender.headers(url, own) # Now, for cookies may change.
      end

      # Headers: the client's and the request's, with User-Agent, Accept, Accept-Encoding, Authorization and Cookie.
      attr_reader :headers

      # String, nil for none. A body that is read while it is sent (an IO, a file, an object with each) is read whole by
      # this call. It is then sent as that String.
      def body = @content.is_a?(BodySource) ? @content = @content.read : @content

      # Array of [name, value]: the query's parameters, decoded.
      def params
        require "uri"
        URI.decode_www_form(@url[/\?(.*)\z/m, 1].to_s)
      end

      # Anything that interceptors want to remember of it, by their names.
      def notes = @notes ||= {}

      # For the engine's stand-in: what is to be sent, a String, a BodySource or nil; and the fields it was made of.
      attr_reader :content, :own

      # Method and URL, short.
      def inspect = "#<Hecaton::Interception::Request #{self}>"

      # String: method and URL.
      def to_s = "#{http_method} #{url}"
    end
  end
end
