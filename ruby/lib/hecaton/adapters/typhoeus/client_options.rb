# Options of connections, names and limits → settings of a client.

module Hecaton::Typhoeus
  # Included by Plan.
  module ClientOptions
    VERSIONS = %i[none httpv1_0 httpv1_1 httpv2_0 httpv2_tls httpv2_prior_knowledge].freeze
    CODINGS = %w[deflate gzip br zstd].freeze
    # Names that need no decoder of their own, and an old one of gzip, which is not offered.
    OTHER_CODINGS = %w[identity none * x-gzip].freeze
    FAMILIES = { v4: ["0.0.0.0/0"], v6: ["::/0"] }.freeze
    private_constant :VERSIONS, :CODINGS, :OTHER_CODINGS, :FAMILIES

    private

    # libcurl's connecttimeout is for the name, the connection and TLS together; here it is for each of these.
    def set_up_connecting
      %i[connect_timeout resolve_timeout tls_timeout].each { |name| setting(name, @connect_within) }
    end

    def set_connecttimeout(name, value) = @connect_within ||= seconds(name, value)

    def set_connecttimeout_ms(name, value) = @connect_within = milliseconds(name, value)

    def set_forbid_reuse(_name, value) = (setting(:max_idle, 0) if on?(value))

    def set_maxconnects(name, value) = setting(:max_idle, number(name, value).to_i)

    # "" stands for all codings that can be decoded. Whatever was requested, what comes is decoded.
    def set_accept_encoding(name, value)
      codings = value.to_s.downcase.split(",").filter_map { |coding| coding[/[^;\s]+/] }
      only(name, value, (codings - CODINGS - OTHER_CODINGS).empty?, "Hecaton decodes #{CODINGS.join(", ")}.")
      @accept_encoding = value.to_s
    end

    def set_http_content_decoding(_name, value) = @raw = !on?(value)

    def set_http_version(name, value)
      case enum(name, value, VERSIONS)
      when :httpv1_0 then Refusals.value(name, value, "Hecaton supports HTTP/1.1 and HTTP/2.")
      when :httpv1_1 then setting(:http, "1.1")
      when :httpv2_prior_knowledge then setting(:http, "2")
      end
    end

    def set_resolve(name, value)
      entries = Array(value).map { |entry| entry.to_s.match(/\A\+?([^:]+:\d+):(.+)\z/) }
      only(name, value, entries.all?, "Give an Array of Strings such as \"example.org:443:127.0.0.1\".")
      setting(:resolve, entries.to_h { |entry| [entry[1], entry[2].split(",").map { |address| address.delete("[]") }] })
    end

    def set_ipresolve(name, value)
      family = enum(name, value, %i[whatever v4 v6])
      setting(:allow_address, FAMILIES[family]) if FAMILIES.key?(family)
    end

    # An address, or the name of an interface, whose first address is taken. libcurl has "if!" and "host!" before them.
    def set_interface(name, value)
      given = value.to_s.sub(/\A(?:if|host)!/, "")
      found = Socket.getifaddrs.select { |each| each.name == given && each.addr&.ip? }.map { |each|
        each.addr.ip_address
      }
      address = (found.min_by { |each| each.include?(":") ? 1 : 0 } || given).delete("[]")
      only(name, "[hidden]", address.match?(/\A[0-9.]+\z|:/),
        "It is neither an address nor the name of an interface of this machine.")
      setting(:local_address, address)
    end

    def set_unix_socket_path(_name, value) = setting(:unix_socket, value.to_s)

    def set_maxfilesize(name, value) = (setting(:max_body, value.to_i) unless number(name, value).zero?)

    def set_low_speed_time(name, value) = @low_speed_time = seconds(name, value)

    # Called after all options, so their order does not matter.
    def set_up_low_speed
      return unless @low_speed_limit&.positive?

      only(:low_speed_limit, @low_speed_limit, @low_speed_limit == 1,
        "Hecaton measures no speed, but how long nothing comes: give low_speed_limit: 1.")
      setting(:read_timeout, @low_speed_time)
      setting(:first_byte_timeout, @low_speed_time)
    end

    # A header of the program's own is sent in place of the option's codings.
    def set_up_decoding
      codings = @accept_encoding.empty? ? CODINGS.join(", ") : @accept_encoding
      add_header("Accept-Encoding", codings) unless header?("accept-encoding")
      %i[decode decode_always].each { |name| setting(name, true) } unless @raw
    end
  end
end
