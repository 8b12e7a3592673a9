# A feature that compresses the bodies of requests.
require "hecaton"
require "zlib"

module Hecaton
  class Features
    #   client = Hecaton::Client.new(timeout: 5, features: [Hecaton::Features::Compression.new(:gzip)])
    #
    # The server must be known to accept it: HTTP has no way to find out first. Some bodies are sent as they are. They
    # are small, are read while they are sent, or have a Content-Encoding or a digest (Content-MD5, Digest,
    # Content-Digest) already.
    class Compression
      CODERS = {
        gzip: ->(body) { Zlib.gzip(body) },
        deflate: ->(body) { Zlib.deflate(body) },
        zstd: ->(body) { ::Zstd.compress(body) }
      }.freeze
      KEEP = %w[content-encoding content-md5 content-digest digest repr-digest content-length].freeze
      private_constant :CODERS, :KEEP

      # name:: :gzip, :deflate, or :zstd, which needs the gem zstd-ruby.
      # minimum:: bytes from which on a body is compressed.
      def initialize(name = :gzip, minimum: 1024)
        @coder = CODERS.fetch(name) { raise ArgumentError, "coding is #{name.inspect}: use one of #{CODERS.keys.join(", ")}" }
        @coding = name.to_s
        @minimum = minimum
        load_zstd if name == :zstd
      end

      # For the client.
      def before_request(request)
        body = request.body
        return unless body.is_a?(String) && body.bytesize >= @minimum && KEEP.none? { |name| request.headers.key?(name) }

        request.with(body: @coder.call(body), headers: { "Content-Encoding" => @coding })
      end

      private

      def load_zstd
        require "zstd-ruby"
      rescue LoadError
        raise ArgumentError, "coding :zstd needs the gem zstd-ruby: add it to the Gemfile, or use :gzip"
      end
    end
  end
end
