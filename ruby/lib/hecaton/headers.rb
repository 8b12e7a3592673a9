# Header fields: names in any case, with their order and repeats.
module Hecaton
  # Read-only. A name is a String in any case, or a Symbol, whose underscores are dashes:
  # <code>headers[:content_type]</code> is headers["Content-Type"]. Two of them are equal when they hold the same fields
  # in the same order, whatever the case of the names.
  class Headers
    include Enumerable

    # The name of a field as a String.
    def self.field(name) = name.is_a?(Symbol) ? name.to_s.tr("_", "-") : name.to_s

    # Names that have no case of their own, as they go out over HTTP/1.1; only so many, for names may come from
    # anywhere.
    TITLES = Hash.new do |known, name|
      title = field(name).gsub(/[^-]+/, &:capitalize).freeze
      known.size < 1000 ? known[name] = title : title
    end
    private_constant :TITLES

    # A name in Title-Case: "Content-Type" for :content_type and for "content-type".
    def self.title(name) = TITLES[name]

    # Pairs of names and values, those of the others' names replaced by these.
    def self.replaced(pairs, others)
      names = others.map { |name, _| name.downcase }
      pairs.reject { |name, _| names.include?(name.downcase) } + others
    end

    # Values of one field as one. Values in UTF-8 cannot be joined as text with others that are not.
    def self.join(values)
      values.join(", ")
    rescue Encoding::CompatibilityError
      values.map(&:b).join(", ")
    end

    # pairs: a Hash or an Array of [name, value], nil for none; a value may be an Array for a repeated field.
    def initialize(pairs = {})
      @pairs = RequestBuilder.pairs(:headers, pairs || {}).flat_map do |name, values|
        Array(values).map { |value| [Headers.field(name).downcase.freeze, value.to_s.freeze].freeze }
      end.freeze
    end

    # From the engine: pairs with names in lower case, which are not changed.
    def self.from_engine(pairs) = allocate.load_engine(pairs)

    # Returns itself.
    def load_engine(pairs) # :nodoc:
      @pairs = pairs.freeze
      self
    end

    # The value of a field as a String, nil when it is absent. It is in UTF-8 if it is valid, else in ASCII-8BIT.
    # Repeats are joined with ", " as RFC 9110 §5.2 allows; for Set-Cookie, where it does not, use get_all.
    def [](name)
      values = get_all(name)
      Headers.join(values) unless values.empty?
    end

    # Every value of a field, in order; [] when it is absent.
    def get_all(name)
      name = Headers.field(name).downcase
      @pairs.filter_map { |key, value| value if key == name }
    end

    # The value of a field, as by []. An absent field gives the block's value, or the default, or a KeyError.
    def fetch(name, *default)
      raise ArgumentError, "fetch takes a name and one default" if default.size > 1

      self[name] ||
        (block_given? ? yield(name) : default.fetch(0) { raise KeyError, "there is no field #{name.inspect}" })
    end

    # Whether the field is there.
    def key?(name) = !get_all(name).empty?
    alias include? key?
    alias member? key?
    alias has_key? key?

    # Yields name (lower case) and value of each field in order.
    def each(&block)
      return enum_for(:each) { @pairs.size } unless block

      @pairs.each(&block)
      self
    end

    # Number of fields, repeats counted.
    def size = @pairs.size

    # {name => value}, names in lower case, repeats joined; with a block of the pairs that it returns.
    def to_h(&block)
      hash = @pairs.map(&:first).uniq.to_h { |name| [name, self[name]] }
      block ? hash.to_h(&block) : hash
    end

    # For pattern matching: `in {headers: {content_type: /json/}}`. A field that is absent does not match.
    def deconstruct_keys(names)
      return to_h { |name, value| [name.tr("-", "_").to_sym, value] } unless names

      names.to_h { |name| [name, self[name]] }.compact
    end

    # Equal when it has the same names and values in the same order.
    def ==(other) = other.is_a?(Headers) && other.to_a == to_a
    alias eql? ==

    # Integer: the same for equal headers.
    def hash = @pairs.hash

    # The names and values, whatever they hold.
    def inspect = "#<Hecaton::Headers #{to_h}>"
  end
end
