# What every answer tells, whether it is read whole or in pieces: how its status is judged, and when it ends.
module Hecaton
  # Included by Response and Stream; it needs their status, headers, url, http_method and attempts.
  module Answer
    # Whether the status is 2xx.
    def success? = status.between?(200, 299)

    # Itself if the status is below 400 (a redirect that was not followed is no error); else raises StatusError.
    def raise_for_status
      return self if status < 400

      raise StatusError, whole
    end

    # For doors: yields name and value of each field in order, Strings that may be changed.
    def each_field
      headers.each { |name, value| yield name.dup, value.dup }
    end

    # String: "1.1" or "2", the HTTP that the server answered in; nil in a response made by hand.
    def http_version = attempts.last&.version

    # Time from which on what was asked for is likely to be gone, by Sunset (RFC 8594); nil when nothing is said.
    def sunset = Deprecation.sunset(headers.get_all("sunset").first)

    # Time from which on it is deprecated, by Deprecation (RFC 9745), which may be past or to come; true when that
    # is said without a time, as drafts of the RFC did; nil when nothing is said.
    def deprecation = Deprecation.deprecation(headers.get_all("deprecation").first)

    # Whether either is said.
    def deprecated? = !(sunset || deprecation).nil?

    # String: the absolute URL that tells about the sunset, by Link with rel="sunset"; nil for none.
    def sunset_link = link("sunset")

    # String: the same about the deprecation, by Link with rel="deprecation".
    def deprecation_link = link("deprecation")

    private

    # As a Response.
    def whole
      return self if is_a?(Response)

      Response.new(status: status, headers: headers, url: url, redirects: redirects, attempts: attempts, elapsed: elapsed,
                   http_method: http_method)
    end

    def link(relation)
      target = Deprecation.link(headers["link"], relation)
      target && (url ? Native.resolve(url, target) : target)
    rescue ArgumentError
      nil # No URL.
    end
  end
end
