# Values of options as libcurl takes them → plain ones.
module Hecaton
  module Typhoeus
    # Included by Plan.
    module OptionValues
      private

      # One of these names (Symbols; nil where a number has none), given as a Symbol, a String or its index in the list.
      def enum(name, value, names)
        found = value.is_a?(Integer) ? names[value] : value.to_s.to_sym
        return found if found && names.include?(found)

        Refusals.value(name, value, "There are #{names.compact.map(&:inspect).join(", ")}.")
      end

      # A number of at least 0.
      def number(name, value)
        return value if value.is_a?(Numeric) && value.real? && value >= 0

        Refusals.value(name, value, "Give a number of at least 0.")
      end

      # Whether libcurl takes the value for true.
      def on?(value) = value && value != 0

      # Milliseconds → seconds; nil for 0, which is libcurl's word for its default.
      def milliseconds(name, value)
        warn("Value '#{value}' for option '#{name}' must be integer.") unless value.is_a?(Integer)
        value = number(name, value)
        value.zero? ? nil : value.ceil / 1000.0
      end

      # Seconds, nil for 0.
      def seconds(name, value)
        value = number(name, value)
        value.zero? ? nil : value
      end

      # Only what Hecaton does anyhow.
      def only(name, value, good, why) = good ? nil : Refusals.value(name, value, why)
    end
  end
end
