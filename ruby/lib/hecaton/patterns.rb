# The Hash that responses and errors give to pattern matching.
module Hecaton
  # For deconstruct_keys.
  module Patterns
    # A Hash of what the object says by these methods; of those that the pattern names alone, if it names any.
    def self.keys(object, asked, all)
      (asked ? all & asked : all).to_h { |name| [name, name == :sent ? object.sent? : object.public_send(name)] }
    end
  end
end
