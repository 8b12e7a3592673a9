# Whether the attempts of a request have stayed with the server that it was made for.
require "hecaton"

module Hecaton
  class Features
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
    end
    private_constant :Origins
  end
end
