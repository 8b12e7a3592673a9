# Stores that keep responses.

module Hecaton::Typhoeus
  # Each is given to Config.cache, or to a request's option cache. default_ttl is in seconds, nil for ever; a
  # request's cache_ttl takes precedence. Anything else with get(request) and set(request, response) will do as well.
  module Cache
    # A store of another library, and how long it keeps a response.
    class Store
      def initialize(store, options = {})
        @store = store
        @default_ttl = options[:default_ttl]
      end

      private

      def ttl(request) = request.cache_ttl || @default_ttl
    end
    private_constant :Store

    # A Dalli::Client.
    class Dalli < Store
      def initialize(client = ::Dalli::Client.new, options = {}) = super

      # The Response, nil for none.
      def get(request) = @store.get(request.cache_key)

      # Keeps the Response.
      def set(request, response) = @store.set(request.cache_key, response, ttl(request))
    end

    # Rails.cache, or another ActiveSupport::Cache::Store.
    class Rails < Store
      def initialize(cache = ::Rails.cache, options = {}) = super

      # The Response, nil for none.
      def get(request) = @store.read(request.cache_key)

      # Keeps the Response.
      def set(request, response) = @store.write(request.cache_key, response, expires_in: ttl(request))
    end

    # A Redis client.
    class Redis < Store
      def initialize(redis = ::Redis.new, options = {}) = super

      # The Response, nil for none. It is unmarshalled: nobody but this program may write there.
      def get(request)
        text = @store.get(request.cache_key)
        Marshal.load(text) if text
      end

      # Keeps the Response.
      def set(request, response)
        @store.set(request.cache_key, Marshal.dump(response))
        @store.expire(request.cache_key, ttl(request)) if ttl(request)
      end
    end
  end
end
