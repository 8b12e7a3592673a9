# Which value a header gets that the gem generates: that of the request, of its body, or of the client.
module Hecaton
  # The table "Headers that Hecaton generates" in docs/settings.md has the rules, also those that the engine applies.
  module GeneratedHeaders # :nodoc: all
    BOUNDARY = /;\s*boundary\s*=\s*(?:"[^"]*"|[^;]*)/i
    # Content of a request → the media types of a client that may describe it, too. JSON has many.
    SAME_KIND = {
      json: %r{\A(?!application/x-www-form-urlencoded\b|multipart/)}i,
      form: %r{\Aapplication/x-www-form-urlencoded\b}i, multipart: %r{\Amultipart/}i
    }.freeze
    private_constant :BOUNDARY, :SAME_KIND

    module_function

    # The Content-Type of a body that was encoded from json, form or multipart.
    #
    # made:: the type of the body as it was encoded
    # own:: the request's header, nil for none
    # clients:: the client's header, nil for none
    def content_type(made, own, clients)
      kind = kind_of(made)
      given = own || (clients if clients&.match?(SAME_KIND.fetch(kind)))
      return made unless given

      kind == :multipart ? with_boundary(given, made) : given
    end

    # :json, :form or :multipart.
    def kind_of(made) = SAME_KIND.keys.find { |kind| made.match?(SAME_KIND[kind]) }
    private_class_method :kind_of

    # Only a reader that knows the boundary finds the parts (RFC 7578 §4.1).
    def with_boundary(given, made) = "#{given.gsub(BOUNDARY, "")}#{made[BOUNDARY]}"
    private_class_method :with_boundary
  end
end
