# The text that Net::HTTP itself would write for a request, for facts that it shows in no other way.

class Hecaton::NetHTTP
  # Stands where Net::HTTPGenericRequest#exec expects a socket. The body goes to a file, as multipart does in
  # Net::HTTP.
  class Written
    # Quotes line breaks in the names of multipart's fields and files, as browsers do (WHATWG), and refuses them in
    # the types of files. Net::HTTP writes them as they are, so a name or a type could add fields to its part.
    module Quoting
      private

      def quote_string(*) = super.gsub(/[\r\n]/, "\r" => "%0D", "\n" => "%0A")

      # A media type cannot be quoted. Where net-http has another name for this method, types are not looked at.
      def encode_multipart_form_data(out, params, options)
        types = params.filter_map { |_name, _value, facts| facts&.fetch(:content_type, nil) }
        return super unless types.any?(/[[:cntrl:]]/)

        raise ArgumentError, "set_form: the content_type of a part contains a control character"
      end
    end
    private_constant :Quoting

    # Net::HTTP reads whether to wait before a body; nil for not.
    attr_reader :continue_timeout

    # For a request without body and body_stream, which is not changed: how it would be written without a coding of
    # its own.
    def self.of(request)
      copy = request.dup
      copy.initialize_http_header(nil) # Only the copy's headers are cleared.
      copy.extend(Quoting)
      copy["content-type"] = request["content-type"] if request.key?("content-type")
      new(copy)
    end

    # String: the type that this version of net-http gives to a body of which none is said, nil for none (0.7 and
    # later).
    def self.default_type
      return @default_type if defined?(@default_type)

      probe = Net::HTTP::Post.new("/")
      probe.body = "x"
      written = quietly { new(probe) }
      @default_type = probe["content-type"]
    ensure
      written&.close
    end

    # Where Ruby warns of much, it warns of that too.
    private_class_method def self.quietly
      verbose, $VERBOSE = $VERBOSE, nil
      yield
    ensure
      $VERBOSE = verbose
    end

    def initialize(request)
      @request = request
      request.exec(self, "1.1", "/")
    end

    # As a socket's: the head comes first, and in one piece.
    def write(*pieces)
      return pieces.sum(&:bytesize).tap { @head = true } unless @head

      file.write(*pieces)
    end

    # String: the type that was written.
    def type = @request["content-type"]

    # Integer: how long the body is; nil if there is none.
    def length = (@request.content_length if @request.key?("content-length"))

    # Tempfile: the body, from its beginning.
    def body = file.tap(&:rewind)

    # String: all of it.
    def text = @file ? body.read : ""

    # Deletes the file.
    def close = @file&.close!

    private

    def file
      @file ||= begin
        require "tempfile"
        Tempfile.new("body").tap(&:binmode)
      end
    end
  end
end
