# The settings of a client that is derived from another.
module Hecaton
  # For Client#with.
  module Derivation # :nodoc: all
    # Credentials. They cannot be combined, so one replaces all others.
    CREDENTIALS = %i[basic_auth bearer digest_auth].freeze
    private_constant :CREDENTIALS

    module_function

    # The settings with these names that were given to Client.new, from inside of it.
    def given(inside, names) = names.to_h { |name| [name, inside.local_variable_get(name)] }.compact

    # Settings with changes.
    def merged(settings, changes)
      refused = changes.keys & Settings::OF_CONNECTIONS
      if refused.any?
        raise ArgumentError, "#{refused.join(", ")}: a setting of connections, which a derived client shares: " \
                             "make a client of its own by Hecaton::Client.new"
      end

      merged = settings.dup
      if (changes.keys & CREDENTIALS).any?
        CREDENTIALS.each { |name| merged.delete(name) }
        merged[:headers] = without(merged[:headers], ["authorization"]) if merged[:headers]
      end
      merged.merge(changes, headers: headers(merged[:headers], changes))
    end

    # The headers of both, where the new ones replace those of the same name.
    private_class_method def headers(given, changes)
      return given unless changes.key?(:headers)

      own = changes[:headers]
      return own unless own && given

      RequestBuilder.pairs(:headers, own)
      without(given, own.map { |name, _| Headers.field(name).downcase }) + own.to_a
    end

    private_class_method def without(headers, names)
      RequestBuilder.pairs(:headers, headers).to_a.reject { |name, _| names.include?(Headers.field(name).downcase) }
    end
  end
end
