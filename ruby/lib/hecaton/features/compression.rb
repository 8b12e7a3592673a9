# A feature that compresses the bodies of requests.
require "hecaton"
require "zlib"

#   client = Hecaton::Client.new(timeout: 5, features: [Hecaton::Features::Compression.new(:gzip)])
#
# The server must be known to take it: HTTP has no way to find out first. Sent as they are: bodies that are small, that
# have a Content-Encoding already, a Content-Range or a sum of their bytes (Content-MD5, Digest, X-Amz-Checksum-CRC32),
# or that are read while they are sent.
class Hecaton::Features::Compression
  CODERS = {
    gzip: ->(body) { Zlib.gzip(body) },
    deflate: ->(body) { Zlib.deflate(body) },
    zstd: ->(body) { ::Zstd.compress(body) }
  }.freeze
  KEEP = %w[content-encoding content-length content-range].freeze
  # Names of fields with a sum of the body: Content-MD5, Repr-Digest, X-Amz-Content-SHA256, X-Amz-Checksum-CRC32.
  SUM = /md5|digest|sha-?(1|256|512)\b|checksum|-hash\z/
  private_constant :CODERS, :KEEP, :SUM

  # name:: :gzip, :deflate, or :zstd, which needs the gem zstd-ruby.
  # minimum:: bytes from which on a body is compressed.
  def initialize(name = :gzip, minimum: 1024)
    @coder = CODERS[name] or raise ArgumentError, "coding is #{name.inspect}: use one of #{CODERS.keys.join(", ")}"
    unless minimum.is_a?(Integer) && minimum >= 0
      raise ArgumentError, "minimum is #{minimum.inspect}: give a number of bytes"
    end

    @coding = name.to_s
    @minimum = minimum
    load_zstd if name == :zstd
  end

  def before_request(request) # :nodoc:
    body = request.body
    return unless body.is_a?(String) && body.bytesize >= @minimum &&
                  request.headers.none? { |name, _| KEEP.include?(name) || SUM.match?(name) }

    request.with(body: @coder.call(body), headers: { "Content-Encoding" => @coding })
  end

  private

  def load_zstd
    require "zstd-ruby"
  rescue LoadError
    raise ArgumentError, "coding :zstd needs the gem zstd-ruby: add it to the Gemfile, or use :gzip"
  end
end
