# Encodes values as bodies and decodes bodies to values, by media type.
module Hecaton
  # application/json and all types that end in "+json" are registered at the start. A program may add others:
  #
  #   Hecaton::MIME.register("application/msgpack",
  #                          encode: MessagePack.method(:pack), decode: MessagePack.method(:unpack))
  #   client.post(url, body: { a: 1 }, headers: { content_type: "application/msgpack" })
  #   client.get(url).parse
  module MIME
    # encode and decode have `call`, or are nil.
    Type = Struct.new(:name, :encode, :decode)

    # A value as JSON.
    module ToJSON
      # String.
      def self.call(value) = Content.of(nil, value, nil, nil).first
    end

    # JSON as a value.
    module FromJSON
      # A Hash, an Array and so on; JSONError if the text is not JSON.
      def self.call(text) = Response.new(status: 200, body: text).json
    end

    # The types that are there at the start. Other Ractors see only these once a program has registered a type whose
    # code is not shareable.
    OWN = Ractor.make_shareable({ "application/json" => Type.new("application/json", ToJSON, FromJSON) })
    private_constant :Type, :ToJSON, :FromJSON, :OWN

    @types = OWN # Replaced, never changed, so that it is read without the lock.
    @lock = Mutex.new

    # Adds a media type, and replaces an earlier one of that name.
    #
    # encode:: an object with `call`, which gets a value and returns a String.
    # decode:: an object with `call`, which gets a body (a String in the encoding that its Content-Type names) and
    #   returns a value.
    def self.register(name, encode: nil, decode: nil)
      [encode, decode].compact.each do |code|
        raise ArgumentError, "MIME: a #{code.class} has no call" unless code.respond_to?(:call)
      end
      name = name.to_s.downcase
      @lock.synchronize { @types = @types.merge(name => Type.new(name, encode, decode).freeze).freeze }
      nil
    end

    # The entry of a Content-Type (its name, encode and decode), nil if the type is not registered.
    def self.[](content_type)
      name = ContentType.media_type(content_type.to_s) or return
      types[name] || (types["application/json"] if name.end_with?("+json"))
    end

    # Array of Strings: the names of the registered media types.
    def self.names = types.keys

    private_class_method def self.types
      @types
    rescue Ractor::IsolationError
      OWN
    end
  end
end
