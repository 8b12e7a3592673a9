# Settings for all requests of a program.

module Hecaton::Typhoeus
  # Read where Typhoeus reads them: block_connection, memoize and cache when a request runs, the others when it is
  # made.
  module Config
    # For requests: those defaults that are set.
    DEFAULTS = {}

    class << self
      # Whether requests that are not stubbed raise Errors::NoStub.
      attr_reader :block_connection
      # Whether a GET gets the response of an equal one that has ended in the same run of its hydra.
      attr_reader :memoize
      # An object with get(request) and set(request, response), nil for none.
      attr_reader :cache

      %i[block_connection memoize cache].each do |name|
        define_method(:"#{name}=") do |value|
          Layers.use if value
          instance_variable_set(:"@#{name}", value)
        end
      end

      # Array: features of Hecaton::Client for all requests, nil for none. Typhoeus has no such setting.
      attr_reader :features

      # Sets them, for requests that are made from now on.
      def features=(list)
        Hecaton::Features.of(list)
        @features = list
        Clients.forget
      end

      # Defaults of the options of these names; user_agent of the header.
      %i[verbose timeout connecttimeout user_agent proxy].each do |name|
        define_method(name) { DEFAULTS[name] }
        define_method(:"#{name}=") { |value| value.nil? ? DEFAULTS.delete(name) : DEFAULTS[name] = value }
      end
    end
  end
end
