# Cache-Control, read.

class Hecaton::Features::Cache
  # Each returns a Hash of names in lower case and values; nil for a directive without one.
  module Directives
    DIRECTIVE = /([!#$%&'*+\-.^_`|~0-9A-Za-z]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?/
    # More than this is no longer counted (RFC 9111 §1.2.2).
    LONGEST = 2**31
    private_constant :DIRECTIVE, :LONGEST

    module_function

    # Of a request. Pragma counts where there is no Cache-Control (RFC 9111 §5.4).
    def of_request(headers)
      pragma = headers["pragma"].to_s.scrub
      return { "no-cache" => nil } if pragma.match?(/\bno-cache\b/i) && !headers.key?("cache-control")

      read(headers["cache-control"])
    end

    # Of a response.
    def of_response(headers) = read(headers["cache-control"])

    # Seconds; text that is not a number is 0, so that nothing is used too long.
    def seconds(text) = text.to_s.match?(/\A\d+\z/) ? [text.to_i, LONGEST].min : 0

    # The first of several with the same name counts.
    private_class_method def read(text)
      found = text.to_s.scrub.scan(DIRECTIVE).map { |name, quoted, plain| [name.downcase, quoted || plain] }
      found.reverse.to_h
    end
  end
end
