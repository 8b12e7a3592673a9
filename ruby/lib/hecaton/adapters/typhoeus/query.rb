# Names and values → a query or a form, encoded as Typhoeus does.
require "tempfile"

module Hecaton::Typhoeus
  # params: a Hash, nested as deep as you like, or a String that is taken as it is.
  # The encoding decides the names for the members of an Array: <code>a[0]=</code>, <code>a[1]=</code> by default;
  # <code>a[]=</code> with :rack; a= with :multi. With :none, the Array's inspect is the one value.
  module Query
    module_function

    # "name=value&name=value", percent-encoded by RFC 3986 unless escape is false.
    def text(params, encoding, escape: true)
      params.is_a?(String) ? params : joined(pairs(params, encoding), escape)
    end

    # The same for pairs.
    def joined(pairs, escape)
      pairs.map { |pair| escape ? pair.map { |part| escaped(part) }.join("=") : pair.join("=") }.join("&")
    end

    # Array of [name, value]; values may be Files.
    def pairs(params, encoding)
      found = []
      collect(params, nil, encoding, found)
      found
    end

    # The URL with these parameters after those it has. The text after a second question mark is dropped, as
    # Typhoeus does.
    def join(url, params, encoding, escape)
      return url if params.nil? || params.empty?

      base, own = url.split("?")
      "#{base}?#{own}#{"&" if own}#{text(params, encoding, escape: escape)}"
    end

    # The URL without dot segments: those in its path are resolved (RFC 3986 §5.2.4).
    def without_dots(url)
      head, path, rest = url.match(%r{\A(\w+://[^/?#]*)([^?#]*)(.*)\z}m)&.captures
      return url unless path

      segments = path.split("/", -1).each_with_object([]) do |part, parts|
        case part
        when "." then next
        when ".." then parts.pop if parts.size > 1
        else parts << part
        end
      end
      segments << "" if path.match?(%r{/\.{1,2}\z})
      "#{head}#{segments.join("/")}#{rest}"
    end

    # Percent-encoded, a space as %20.
    def escaped(part) = Hecaton::RequestBuilder.escaped(part.to_s)

    # Whether it is sent as a file.
    def file?(value) = value.is_a?(File) || value.is_a?(Tempfile)

    private_class_method def collect(value, prefix, encoding, found)
      case value
      when Hash then value.each { |key, inner| add(inner, prefix ? "#{prefix}[#{key}]" : key, encoding, found) }
      when Array
        return found << [prefix, value] if encoding == :none

        value.each_with_index { |inner, index| add(inner, member(prefix, index, encoding), encoding, found) }
      end
    end

    private_class_method def member(prefix, index, encoding)
      case encoding
      when :rack then "#{prefix}[]"
      when :multi then prefix
      else "#{prefix}[#{index}]"
      end
    end

    private_class_method def add(value, name, encoding, found)
      value.is_a?(Hash) || value.is_a?(Array) ? collect(value, name, encoding, found) : found << [name, value]
    end
  end
end
