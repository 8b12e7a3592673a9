# The fields that a client adds to its requests, as far as interceptors may see them.
module Hecaton
  module Interception
    # Made of a client's settings. The engine has the rules; these are told after them
    # (crates/hecaton/src/message/template.rs).
    class Sender
      ORIGIN = %r{\A(https?)://([^/?#]*)}i
      # As the engine accepts them.
      CODINGS = "gzip, deflate, br, zstd".freeze
      private_constant :ORIGIN, :CODINGS

      def initialize(settings)
        @base = settings[:base_url]
        @fields = settings[:headers].to_a.each_slice(2).to_a
        @public = settings[:public_headers].to_a
        @user_agent = settings[:user_agent] || "hecaton/#{VERSION}"
        @decode = settings[:decode] != false
        @cookies = settings[:cookies]
      end

      # The absolute URL, without fragment, and the value of Authorization that was in it, nil for none.
      def place(url)
        url = Native.resolve(@base || "http://localhost/", url.to_s).sub(/#.*\z/m, "")
        login = url[%r{\Ahttps?://([^/?#@]*)@}, 1]
        return [url, nil] unless login

        [url.sub(%r{://[^/?#@]*@}, "://"), basic(login)]
      end

      # Headers of a request to this URL, whose own fields are these.
      def headers(url, own)
        own = own.to_a.each_slice(2).to_a
        named = own.map { |name, _| name.downcase }
        fields = client_fields(url).reject { |name, _| named.include?(name.downcase) } + own.reject { |_, value| value.nil? }
        named += fields.map { |name, _| name.downcase }
        Headers.new(default_fields(url, named) + fields)
      end

      # Whether the engine decodes the response to a request with these Headers.
      def decodes?(headers) = @decode && headers["accept-encoding"] == CODINGS

      private

      # Whether both are of the same scheme, host and port.
      def same_origin?(one, other) = one[ORIGIN] == other[ORIGIN]

      def public?(name) = Native.public_header?(name, @public)

      def client_fields(url)
        return @fields unless @base

        base, login = place(@base)
        return @fields.select { |name, _| public?(name) } unless same_origin?(base, url)

        login && @fields.none? { |name, _| name.casecmp?("authorization") } ? @fields + [["Authorization", login]] : @fields
      end

      def default_fields(url, named)
        fields = [["User-Agent", @user_agent], ["Accept", "*/*"]]
        fields << ["Accept-Encoding", CODINGS] if @decode && !named.include?("range")
        cookie = @cookies && Jar.cookie(@cookies.list, url)
        fields << ["Cookie", cookie] if cookie
        fields.reject { |name, _| named.include?(name.downcase) }
      end

      def basic(login)
        user, password = login.split(":", 2).map { |part| part.gsub(/%(\h\h)/) { $1.hex.chr }.b }
        "Basic #{["#{user}:#{password}"].pack("m0")}"
      end
    end
  end
end
