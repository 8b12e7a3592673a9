# The header fields of a response, as Typhoeus shows them.
require "delegate"

module Hecaton::Typhoeus
  class Response
    # A Hash of names and values, with the names as they came. [] takes a name in any case. The value of a repeated
    # field is an Array.
    class Header < DelegateClass(Hash)
      # raw: the head of a response as a String, or a Hash.
      def initialize(raw)
        super({})
        @raw = raw
        @sanitized = {}
        parse
      end

      # The value, or an Array of them; nil where there is none.
      def [](key) = fetch(key) { @sanitized[key.to_s.downcase] }

      # Fills the Hash from raw. Called by `new`.
      def parse
        case @raw
        when Hash then @raw.each { |name, value| add(name, value) }
        when String then parse_lines(@raw)
        end
      end

      private

      # A line that begins with white space continues the one before.
      def parse_lines(raw)
        raw.split(/\r?\n(?!\s)/).each do |line|
          line = line.strip
          next if line.empty? || line.start_with?("HTTP/")

          name, value = line.split(":", 2)
          add(name.strip, value ? value.strip.gsub(/\r?\n\s*/, " ") : "")
        end
      end

      # As in Typhoeus, a name in another case gets an entry of its own, which contains the earlier values too.
      def add(name, value)
        before = self[name]
        case before
        when nil then self[name] = value
        when Array then before << value
        else self[name] = [before, value]
        end
        @sanitized[name.to_s.downcase] = self[name]
      end
    end
  end
end
