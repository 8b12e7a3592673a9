# A cookie jar: what servers set, kept by the engine and shared by the clients that are given it.
module Hecaton
  # One cookie as it is stored; expires is a Time, nil for one that ends with the jar. With host_only it is only for its
  # domain, else also for the hosts below it.
  Cookie = Struct.new(:name, :value, :domain, :host_only, :path, :secure, :http_only, :expires, keyword_init: true) do
    # Without the value, which may be a secret.
    def inspect = "#<Hecaton::Cookie #{name} of #{domain}#{path}>"
    alias_method :to_s, :inspect
    # For `pp`, which would show all members.
    def pretty_print(printer) = printer.text(inspect)
  end

  # Given to clients as `cookies:`, it keeps the cookies of every response, redirects included. It sends them back by
  # RFC 6265: to the host that set them (with Domain also to its subdomains) and under their path. Secure cookies are
  # sent only over https. A request with a Cookie header of its own is sent with that and no other.
  #
  # A server of a.co.uk may set a cookie for a.co.uk and its subdomains, but not for all of co.uk and not for an
  # address. The gem has Mozilla's list of public suffixes from the day when it was built. It holds at most 3000 cookies
  # of 4 KiB each, and 180 for a registrable domain. It takes 50 of a response. Beyond these limits the cookies that
  # were used longest ago are dropped. Safe to share between threads. A forked child has a copy.
  class Cookies
    include Enumerable

    FIELDS = %w[name value domain path].freeze
    private_constant :FIELDS

    # The engine's jar.
    attr_reader :native # :nodoc:

    # A jar without cookies.
    def initialize = @native = Native::Cookies.new

    # A jar that sends its cookies beside those of a request's own Cookie, as libcurl does.
    def self.joining = allocate.tap { |jar| jar.instance_variable_set(:@native, Native::Cookies.joining) } # :nodoc:

    # From what to_json gave. ArgumentError when it is something else.
    def self.from_json(text)
      Library.load("json")
      cookies = JSON.parse(text)
      raise JSON::ParserError unless cookies.is_a?(Array) && cookies.all?(Hash)

      cookies.each_with_object(new) { |fields, jar| jar.restore(fields) }
    rescue JSON::ParserError
      raise ArgumentError, "this is not the output of Cookies#to_json, an Array of cookies in JSON", cause: nil
    end

    # Yields each Cookie that has not expired.
    def each
      return enum_for(:each) unless block_given?

      list { |text| Native::Cookies.octets(text) }.each { |cookie| yield cookie }
      self
    end

    # How many there are.
    def size = @native.list.size

    # Forgets all of them. Returns itself.
    def clear
      @native.clear
      self
    end

    # Takes a cookie as if a response from this URL had set it; text is the value of a Set-Cookie. Returns whether it
    # was taken: not when the host may not set it. ArgumentError when it is no cookie, or with a control character.
    def set(text, url) = @native.set(text.to_s, url.to_s)

    # All cookies, those that end with the jar among them, as JSON. They are as secret as passwords.
    def to_json(*)
      Library.load("json")
      JSON.generate(list(&:itself).map { |cookie| cookie.to_h.merge(expires: cookie.expires&.to_i) })
    end

    # Adds a cookie with the fields that to_json gives one. ArgumentError when it is none.
    def restore(fields) # :nodoc:
      name, value, domain, path = fields.values_at(*FIELDS).map { |text| Native::Cookies.octets(text.to_s).b }
      raise ArgumentError, "a cookie contains a semicolon" if fields.values.any? { |text| text.to_s.include?(";") }

      text = "#{name}=#{value}; Path=#{path}"
      text += "; Domain=#{domain}" unless fields["host_only"]
      text += "; Secure" if fields["secure"]
      text += "; HttpOnly" if fields["http_only"]
      if fields["expires"]
        text += "; Expires=#{Time.at(Integer(fields["expires"])).utc.strftime("%a, %d %b %Y %H:%M:%S GMT")}"
      end
      # Set as if it came over https: over http it could not replace a secure cookie of its name.
      set(text, "https://#{domain}/")
    end

    # Array of Cookie; the block makes each text of what the engine has, where bytes that are not UTF-8 are characters
    # for private use.
    def list
      @native.list.map do |*values, expires|
        values = values.map { |value| value.is_a?(String) ? yield(value) : value }
        Cookie.new(**Cookie.members.zip(values).to_h, expires: expires && Time.at(expires))
      end
    end
    private :list

    # Without names and values, which may be secret.
    def inspect = "#<Hecaton::Cookies #{size} cookies>"
  end
end
