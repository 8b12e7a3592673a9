# The URL of a stub, and whether a request matches it.

module Hecaton::Testing
  # Compared as the URL that goes on the wire, so "HTTP://API.test:80" and "http://api.test/" match each other.
  class UrlPattern
    # See Hecaton.stub.
    def initialize(url, query)
      @given = url
      @query = query
      @params = pairs(query) unless query.nil? || query == :any
      return if url.nil? || url.is_a?(Regexp) || url.respond_to?(:call)

      @url, own = split(absolute(url.to_s))
      @params = (own + @params.to_a).sort unless query == :any
    end

    # nil if the request matches, else the name of what does not: :url or :query.
    def mismatch(request)
      url, params = split(request.url)
      return :url unless here?(request, url)

      :query unless @params.nil? || @params.sort == params.sort
    end

    # For messages.
    def to_s
      shown = @given.nil? ? "any URL" : @given.respond_to?(:call) ? "a URL that its block takes" :
        @given.is_a?(Regexp) ? @given.inspect : @given.to_s
      shown + (@query.nil? ? "" : " with the query #{@query.inspect}")
    end

    private

    def here?(request, url)
      case @given
      when nil then true
      when Regexp then @given.match?(request.url)
      else @url ? @url == url : @given.call(request)
      end
    end

    def absolute(url)
      unless url.match?(%r{\Ahttps?://}i)
        raise ArgumentError, "the URL of a stub is #{url.inspect}: give an absolute one, a Regexp or a block"
      end
      if url.match?(%r{\A\w+://[^/?#]*@})
        raise ArgumentError, "the URL of a stub has credentials in it: give headers: { authorization: … }"
      end

      Hecaton::Native.resolve("http://localhost/", url)
    end

    # The URL without query and fragment, and the query's parameters.
    def split(url)
      require "uri"
      base, query = url.sub(/#.*\z/m, "").split("?", 2)
      base = same_octets(base)
      [base, URI.decode_www_form(query.to_s)]
    rescue ArgumentError # No parameters.
      [base, [[query, ""]]]
    end

    # One way to write what is percent-encoded (RFC 3986 §6.2.2.1 and §6.2.2.2).
    def same_octets(text)
      text.gsub(/%\h\h/) do |code|
        octet = code[1..].hex.chr
        octet.match?(/[A-Za-z0-9\-._~]/n) ? octet : code.upcase
      end
    end

    def pairs(query)
      Hecaton::RequestBuilder.pairs(:query, query).flat_map do |name, values|
        values = [values] unless values.is_a?(Array)
        values.compact.map { |value| [name.to_s, Hecaton::RequestBuilder.plain(:query, name, value).to_s] }
      end
    end
  end
end
