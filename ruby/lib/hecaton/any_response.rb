# The methods that every response has, whether it is read whole or in pieces.
module Hecaton
  # Included by Response and Stream; it needs their status, headers, url, http_method and attempts.
  module AnyResponse
    # Whether the status is 2xx.
    def success? = status.between?(200, 299)

    # Another name of success?.
    def ok? = success?

    # Whether the status is 3xx, with a Location or without (as 304).
    def redirect? = status.between?(300, 399)

    # Whether the status is 4xx.
    def client_error? = status.between?(400, 499)

    # Whether the status is 5xx.
    def server_error? = status.between?(500, 599)

    # Integer: the status.
    def code = status

    # String: the standard phrase of the status, "Not Found" of 404; nil for a status that is not registered. The
    # server's own reason phrase is dropped: it means nothing (RFC 9110 §15.1), and HTTP/2 has none.
    def reason = Reasons.of(status)

    # String: the media type without parameters in lower case, "text/html"; nil without a Content-Type.
    def content_type = ContentType.media_type(headers.get_all("content-type").first)

    # String: the charset that Content-Type names, in lower case, "utf-8"; nil when it names none.
    def charset = ContentType.charset(headers.get_all("content-type").first)

    # Array of Cookie: the cookies that the response set and that a jar of its own would keep (see Cookies). Expired
    # cookies are left out, and so are cookies for a host that the server may not set. The cookies of a response that
    # was made by hand without a URL are for the host "invalid".
    def cookies
      values = headers.get_all("set-cookie")
      return [] if values.empty?

      jar = Cookies.new
      values.each { |value| keep(jar, value) }
      jar.to_a
    end

    # Links (RFC 8288): links["next"] is a URL or nil.
    def links = Links.new(headers["link"], url)

    # Itself if the status is below 400 (a redirect that was not followed is not an error); else raises StatusError.
    def raise_for_status = status < 400 ? self : raise(StatusError, whole)

    # Yields name and value of each field in order, Strings that may be changed.
    def each_field = headers.each { |name, value| yield name.dup, value.dup } # :nodoc:

    # String: "1.1", "2" or "3", the HTTP version of the response; nil in a response made by hand.
    def http_version = attempts.last&.version

    # Time after which the requested resource is likely to be gone, from Sunset (RFC 8594); nil without the header.
    def sunset = Deprecation.sunset(headers.get_all("sunset").first)

    # Time of the deprecation, from Deprecation (RFC 9745); it may be past or to come. The value is true when the header
    # has no time, as in drafts of the RFC, and nil without the header.
    def deprecation = Deprecation.deprecation(headers.get_all("deprecation").first)

    # Whether the response has a sunset or a deprecation.
    def deprecated? = !(sunset || deprecation).nil?

    # String: the absolute URL of the page about the sunset, by Link with rel="sunset"; nil for none.
    def sunset_link = links["sunset"]

    # String: the absolute URL of the page about the deprecation, by Link with rel="deprecation"; nil for none.
    def deprecation_link = links["deprecation"]

    private

    # This response as a Response, without a body if it is a Stream.
    def whole
      return self if is_a?(Response)

      Response.new(status: status, headers: headers, url: url, redirects: redirects, attempts: attempts,
        elapsed: elapsed, http_method: http_method)
    end

    # Text that is not a cookie is left out, as a client's jar does.
    def keep(jar, value)
      jar.set(value, url || "https://invalid/")
    rescue ArgumentError
      nil
    end
  end
end
