# The names of statuses.
module Hecaton
  module Typhoeus
    # The standard phrases, but for those of this drop-in.
    module Reasons
      OWN = { 101 => nil, 418 => "I'm a Teapot", 510 => nil }.freeze
      private_constant :OWN

      # String; nil for a status that has none.
      def self.of(status) = OWN.fetch(status) { Hecaton::Reasons.of(status) }
    end
  end
end
