# The notes that the option `verbose` makes about a request.

module Hecaton::Typhoeus
  # As Ethon::Easy::DebugInfo: each note has a type. Only heads are noted here: :header_out and :header_in.
  class DebugInfo
    TYPES = %i[text header_in header_out data_in data_out ssl_data_in ssl_data_out].freeze
    private_constant :TYPES

    def initialize = @messages = []

    # Adds a note, a String.
    def add(type, message) = @messages << [type, message]

    # The notes of a type, an Array of Strings.
    def messages_for(type) = @messages.filter_map { |each, message| message if each == type }

    TYPES.each { |type| define_method(type) { messages_for(type) } }

    # All notes.
    def to_a = @messages.map(&:last)

    # The notes by type.
    def to_h = TYPES.to_h { |type| [type, messages_for(type)] }
  end
end
