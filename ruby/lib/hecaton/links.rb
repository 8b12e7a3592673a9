# The links of a response, by their relation (RFC 8288).
module Hecaton
  # One link.
  #
  # url:: String, absolute if the response's own URL is known.
  # rel:: the relations of the link, an Array of Strings in lower case.
  # parameters:: Hash of its parameters, such as "rel", "title", "type", "hreflang" and "anchor", with names in lower
  #   case.
  Link = Struct.new(:url, :rel, :parameters, keyword_init: true) do
    # The URL.
    def to_s = url
  end

  # Read-only, from AnyResponse#links. Text that cannot be read as a link is left out.
  class Links
    include Enumerable

    # text: the value of Link, nil for none. base: the URL that targets are relative to, nil when it is not known.
    def initialize(text, base = nil)
      @links =
        Deprecation.links(text.to_s).filter_map { |target, parameters| Links.link(target, parameters, base) }.freeze
    end

    # The URL of the first link with this relation, a String; nil for none. The relation is a String or Symbol in any
    # case. A link with an anchor belongs to another resource than the requested one, and does not count.
    def [](rel) = get_all(rel).first&.url

    # Every Link with this relation, in order, those with an anchor left out.
    def get_all(rel)
      rel = rel.to_s.downcase
      @links.select { |link| link.rel.include?(rel) && !link.parameters.key?("anchor") }
    end

    # Whether there is a link with this relation, other than links with an anchor.
    def key?(rel) = !get_all(rel).empty?
    alias include? key?
    alias has_key? key?

    # Yields each Link in order, those with an anchor among them.
    def each(&block)
      return enum_for(:each) { @links.size } unless block

      @links.each(&block)
      self
    end

    # How many there are.
    def size = @links.size

    # Whether there is none.
    def empty? = @links.empty?

    # {relation => URL} with the first link of each relation. Links with an anchor are left out.
    def to_h = @links.flat_map(&:rel).uniq.to_h { |rel| [rel, self[rel]] }.compact

    # Shows only the relations.
    def inspect = "#<Hecaton::Links #{to_h.keys.join(", ")}>"

    # A Link; nil if the target is not a URL.
    def self.link(target, parameters, base) # :nodoc:
      url = base ? Native.resolve(base, target) : target
      Link.new(url: url, rel: parameters["rel"].to_s.downcase.split.freeze, parameters: parameters.freeze)
    rescue ArgumentError
      nil
    end
  end
end
