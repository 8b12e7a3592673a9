# Decodes a compressed body to its end, and refuses one that ends early.
require "zlib"

class Hecaton::NetHTTP
  # Net::HTTPResponse's own code returns what it could decode of a body that ends early, and the first of several gzip
  # members (RFC 1952 §2.2), without an error. A response that is extended with this module has its body decoded here.
  module Decoding
    CODINGS = %w[gzip x-gzip deflate].freeze
    private_constant :CODINGS

    # Whether Net::HTTPResponse would decode the body of this response.
    def self.applies_to?(response)
      response.decode_content && !response.key?("content-range") &&
        CODINGS.include?(response["content-encoding"]&.downcase)
    end

    # Whether Net::HTTPResponse changes Content-Length to that of the decoded body, as it does since net-http 0.3.
    def self.changes_length?
      return @changes_length if defined?(@changes_length)

      coded = Zlib.gzip("decoded")
      response = Net::HTTPOK.new("1.1", "200", "OK")
      response.initialize_http_header("content-encoding" => "gzip", "content-length" => coded.bytesize.to_s)
      response.decode_content = true
      pieces = [coded]
      response.reading_body(BodySocket.new(nil) { pieces.shift }, true) {}
      @changes_length = response["content-length"] == response.body.bytesize.to_s
    end

    # The Decoder of a body that was not read yet.
    attr_writer :hecaton_decoder

    # As Net::HTTPResponse does, when the body is read: the header fields become those of the decoded body.
    def read_body(...)
      decoder = @hecaton_decoder
      return super unless decoder

      @hecaton_decoder = nil
      delete("content-encoding")
      super.tap { self["content-length"] = decoder.size.to_s if key?("content-length") && Decoding.changes_length? }
    end

    # The state of decoding one body.
    class Decoder
      # The number of bytes that were decoded.
      attr_reader :size

      def initialize(cut_allowed: false)
        @cut_allowed = cut_allowed
        @size = 0
        @over = false
      end

      # Yields what this piece of the body contains, in pieces. Bytes after the last member are ignored, as by
      # Net::HTTPResponse.
      def decode(piece, &)
        until piece.empty? || @over
          @over = @inflate&.finished? && !piece.start_with?(MEMBER)
          piece = rest(piece, &) unless @over
        end
      end

      # To be called at the end of the body.
      def finish
        return if @inflate.nil? || @inflate.finished? || @cut_allowed

        raise EOFError, "the body was cut short: its compressed data ends early"
      end

      private

      # Every gzip member begins with this byte.
      MEMBER = "\x1F".b.freeze
      private_constant :MEMBER

      # Decodes up to the end of a member, and returns what follows it.
      def rest(piece)
        @inflate = Zlib::Inflate.new(32 + Zlib::MAX_WBITS) if @inflate.nil? || @inflate.finished?
        before = @inflate.total_in
        @inflate.inflate(piece) do |chunk|
          @size += chunk.bytesize
          yield chunk
        end
        @inflate.finished? ? piece.byteslice((@inflate.total_in - before)..) : ""
      end
    end
  end
end
