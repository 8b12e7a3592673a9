# Reads the media type of a Content-Type. The extension (ext/hecaton/src/content_type.rs) finds the charset and the
# encoding that Ruby has for it.
module Hecaton
  # Never raises: an unreadable value is ignored.
  module ContentType # :nodoc: all
    module_function

    # "text/html" of "Text/HTML; charset=utf-8"; nil for none.
    def media_type(value)
      type = value.to_s.scrub[/\A[^;]*/].strip.downcase
      type unless type.empty?
    end

    # "utf-8" of "text/html; charset=UTF-8"; nil for none.
    def charset(value) = Native.charset(value.to_s)

    # The Encoding of text of this type: its charset's, else UTF-8 for JSON and server-sent events, else ASCII-8BIT. The
    # same when Ruby does not know the charset.
    def encoding(value) = Native.encoding(value.to_s)
  end
end
