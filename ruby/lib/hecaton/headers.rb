# Header fields: names in any case, order and repeats kept.
module Hecaton
  # Read-only. Two of them are equal when they hold the same fields in the same order, whatever the
  # case of the names.
  class Headers
    include Enumerable

    # pairs: a Hash or an Array of [name, value]; a value may be an Array for a repeated field.
    def initialize(pairs = {})
      @pairs = pairs.flat_map do |name, values|
        Array(values).map { |value| [name.to_s.downcase.freeze, value.to_s.freeze].freeze }
      end.freeze
    end

    # The value of a field as a String, nil when it is absent. Repeats are joined with ", " as
    # RFC 9110 §5.2 allows; for Set-Cookie, where it does not, use get_all.
    def [](name)
      values = get_all(name)
      values.join(", ") unless values.empty?
    end

    # Every value of a field, in order; [] when it is absent.
    def get_all(name)
      name = name.to_s.downcase
      @pairs.filter_map { |key, value| value if key == name }
    end

    # Whether the field is there.
    def key?(name) = !get_all(name).empty?

    # Yields name (lower case) and value of each field in order.
    def each(&block)
      return enum_for(:each) { @pairs.size } unless block

      @pairs.each(&block)
      self
    end

    # Number of fields, repeats counted.
    def size = @pairs.size

    # {name => value}, repeats joined.
    def to_h = @pairs.map(&:first).uniq.to_h { |name| [name, self[name]] }

    def ==(other) = other.is_a?(Headers) && other.to_a == to_a
    alias eql? ==

    def hash = @pairs.hash

    def inspect = "#<Hecaton::Headers #{to_h}>"
  end
end
