# The Hash that responses and errors give to pattern matching.
module Hecaton
  # For deconstruct_keys.
  module Patterns # :nodoc: all
    # A Hash of the values of these methods; if the pattern names some, it has only those.
    def self.keys(object, names, all)
      (names ? all & names : all).to_h { |name| [name, name == :sent ? object.sent? : object.public_send(name)] }
    end
  end
end
