# Reads a Content-Type: the media type, the charset, and the encoding that Ruby has for it.
module Hecaton
  # Never raises: an unreadable value is ignored.
  module ContentType
    CHARSET = /;[ \t]*charset[ \t]*=[ \t]*(?:"([^"]*)"|([^\s;"]+))/i
    # Ruby's names for the encodings of its process; no charset has such a name.
    OF_THE_PROCESS = %w[locale external internal filesystem].freeze
    JSON = %r{\Aapplication/json\z|\+json\z} # RFC 6839 §3.1
    private_constant :CHARSET, :OF_THE_PROCESS, :JSON

    module_function

    # "text/html" of "Text/HTML; charset=utf-8"; nil for none.
    def media_type(value)
      type = value.to_s.scrub[/\A[^;]*/].strip.downcase
      type unless type.empty?
    end

    # "utf-8" of "text/html; charset=UTF-8"; nil for none.
    def charset(value)
      match = CHARSET.match(value.to_s.scrub) or return
      name = (match[1] || match[2]).strip.downcase
      name unless name.empty?
    end

    # The Encoding of text of this type: its charset's, else UTF-8 for JSON and server-sent events, else ASCII-8BIT. The
    # same when Ruby does not know the charset.
    def encoding(value)
      name = charset(value)
      return find(name) if name

      type = media_type(value)
      type == "text/event-stream" || JSON.match?(type.to_s) ? Encoding::UTF_8 : Encoding::BINARY
    end

    private_class_method def find(name)
      return Encoding::UTF_8 if name == "utf8" # So do many write it.

      OF_THE_PROCESS.include?(name) ? Encoding::BINARY : Encoding.find(name)
    rescue ArgumentError
      Encoding::BINARY
    end
  end
end
