# A feature that signs each attempt by AWS Signature Version 4.
require "hecaton"
require "openssl"
require_relative "origins"

class Hecaton::Features
  #   signature = Hecaton::Features::AWSSignature.new(access_key: "AKID…", secret_key: "…",
  #                                                   region: "eu-central-1", service: "s3")
  #   client = Hecaton::Client.new(timeout: 5, features: [signature])
  #
  # Each attempt is signed anew, with the time at which it is made. A redirect to another scheme, host or port is not
  # signed, nor is a redirect back.
  class AWSSignature
    ALGORITHM = "AWS4-HMAC-SHA256".freeze
    UNSIGNED = "UNSIGNED-PAYLOAD".freeze
    HASH_HEADER = "x-amz-content-sha256".freeze
    private_constant :ALGORITHM, :UNSIGNED, :HASH_HEADER

    # access_key::, secret_key::, session_token:: the credentials; session_token is nil for long-term ones.
    # region::, service:: as in "us-east-1" and "s3".
    # headers:: Array of names of headers that are signed too. Default: Host, Content-Type, and what begins with
    #   X-Amz-.
    # clock:: what has `call` and returns a Time. Default: Time.now.
    def initialize(access_key:, secret_key:, region:, service:,
      session_token: nil, headers: [], clock: Time.method(:now))
      given = { access_key: access_key, secret_key: secret_key, region: region, service: service }
      missing, value = given.find { |_, each| !each.is_a?(String) || each.empty? }
      raise ArgumentError, "#{missing} is of class #{value.class}: give a String that is not empty" if missing
      raise ArgumentError, "headers is of class #{headers.class}: give an Array of names" unless headers.is_a?(Array)

      @access_key = access_key
      @secret_key = secret_key
      @session_token = session_token
      @region = region
      @service = service
      @headers = headers.map { |name| Hecaton::Headers.field(name).downcase }
      @clock = clock
    end

    def before_attempt(request, _number) # :nodoc:
      return unless Origins.home?(self, request)

      time = @clock.call.getutc.strftime("%Y%m%dT%H%M%SZ")
      payload = payload(request)
      added = { "x-amz-date" => time }
      added[HASH_HEADER] = payload if @service == "s3"
      added["x-amz-security-token"] = @session_token if @session_token
      request = request.with(headers: added)
      request.with(headers: { "authorization" => authorization(request, time, payload) })
    end

    # Without the credentials.
    def inspect = "#<Hecaton::Features::AWSSignature #{@region} #{@service}>"

    private

    # The hash of the body, in hexadecimal.
    def payload(request)
      body = request.body
      return hex("") if body.nil?
      return hex(body) if body.is_a?(String)
      return UNSIGNED if @service == "s3"

      raise ArgumentError,
        "#{@service} demands that the body is signed, and it is read while it is sent: give a String"
    end

    def authorization(request, time, payload)
      fields = signed(request)
      names = fields.map(&:first).join(";")
      date = time[0, 8]
      scope = "#{date}/#{@region}/#{@service}/aws4_request"
      text = [ALGORITHM, time, scope, hex(canonical(request, fields, names, payload))].join("\n")
      key = [date, @region, @service, "aws4_request"].inject("AWS4#{@secret_key}") { |secret, part| hmac(secret, part) }
      "#{ALGORITHM} Credential=#{@access_key}/#{scope}, " \
      "SignedHeaders=#{names}, Signature=#{hmac(key, text).unpack1("H*")}"
    end

    def canonical(request, fields, names, payload)
      path, query = Origins.target(request).split("?", 2)
      [request.http_method, canonical_path(path), canonical_query(query),
       *fields.map { |name, value| "#{name}:#{value}" }, "", names, payload].join("\n")
    end

    # Names and values in the order of the names.
    def signed(request)
      fields = request.headers.map { |name, value| [name, value.strip.gsub(/ +/, " ")] }
      named = fields.group_by(&:first).transform_values { |lines| lines.map(&:last).join(",") }
      host = named["host"] || Origins.host(request)
      chosen = named.select { |name, _|
        name == "content-type" || name.start_with?("x-amz-") || @headers.include?(name)
      }
      chosen.merge("host" => host).sort
    end

    # For S3 the path is signed as it is sent. For other services, "." and ".." are resolved, and the path is encoded
    # once more.
    def canonical_path(path)
      path = "/" if path.to_s.empty?
      return path.split("/", -1).map { |part| encoded(decoded(part)) }.join("/") if @service == "s3"

      parts = path.split("/").each_with_object([]) do |part, normal|
        next if part.empty? || part == "."

        part == ".." ? normal.pop : normal << encoded(part)
      end
      "/#{parts.join("/")}#{"/" if parts.any? && path.end_with?("/")}"
    end

    def canonical_query(query)
      pairs = query.to_s.split("&").map { |pair| pair.partition("=").values_at(0, 2) }
      pairs.map { |pair| pair.map { |part| encoded(decoded(part)) } }.sort.map { |pair| pair.join("=") }.join("&")
    end

    def decoded(text) = text.b.gsub(/%(\h\h)/n) { $1.hex.chr }
    def encoded(text) = Hecaton::RequestBuilder.escaped(text)
    def hex(text) = OpenSSL::Digest::SHA256.hexdigest(text)
    def hmac(key, text) = OpenSSL::HMAC.digest("SHA256", key, text)
  end
end
