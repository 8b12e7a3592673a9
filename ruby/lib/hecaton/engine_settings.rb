# Settings of a client as the engine takes them.
module Hecaton
  # The names are in settings.rb, which is generated.
  module Settings
    # The conversion of a value, for settings whose value is not passed as it is.
    CONVERSIONS = {
      retry: ->(value) { Client.retry_options(value) },
      redirects: ->(value) { RequestBuilder.redirects(value) },
      allow_address: ->(value) { Client.address_rule(value) },
      resolve: ->(value) { Client.addresses(value) },
      local_address: :to_s.to_proc,
      proxy: ->(value) { Client.proxy(value) },
      no_proxy: ->(value) { value.is_a?(String) ? [value] : value },
      http: ->(value) { Client.http(value) }
    }.freeze
    private_constant :CONVERSIONS

    # Values for Native::Client, of the settings that were given.
    def self.for_engine(given)
      OF_ENGINE.to_h { |name| [name, converted(name, given[name])] }.merge(
        user_agent: given[:user_agent].nil? ? given[:app_name]&.to_s : given[:user_agent],
        client_key: ClientKey.of(*given.values_at(:client_key, :client_cert, :client_key_password))
      )
    end

    private_class_method def self.converted(name, value)
      return if value.nil?
      return Client.seconds(value, name) if TIMES.include?(name)

      conversion = CONVERSIONS[name]
      conversion ? conversion.call(value) : value
    end
  end
end
