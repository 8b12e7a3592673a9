# For features that add credentials: the parts of a URL, and whether a request stays with its server.
require "hecaton"

class Hecaton::Features
  # For features that add credentials.
  module Origins
    # Whether this attempt and each one before it go to the same scheme, host and port. Once a redirect has left them
    # it is never so again, because another server chose the URL of what follows.
    def self.home?(feature, request)
      request.notes[feature] = request.origin unless request.notes.key?(feature)
      return true if request.notes[feature] == request.origin

      request.notes[feature] = nil
      false
    end

    # Path and query of the URL, all that is after the host: "/path?query".
    def self.target(request) = request.url[%r{\Ahttps?://[^/?]*(.*)\z}m, 1]

    # The value of Host, from the headers or the URL.
    def self.host(request) = request.headers["host"] || request.url[%r{//([^/?]*)}, 1]
  end
  private_constant :Origins
end
