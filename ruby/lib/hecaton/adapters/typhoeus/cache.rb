# Stores that keep responses.
module Hecaton
  module Typhoeus
    # Each is given to Config.cache, or to a request's option cache. default_ttl is in seconds, nil for ever; a
    # request's cache_ttl takes precedence. Anything else with get(request) and set(request, response) will do as well.
    module Cache
      # A Dalli::Client.
      class Dalli
        def initialize(client = ::Dalli::Client.new, options = {})
          @client = client
          @default_ttl = options[:default_ttl]
        end

        # The Response, nil for none.
        def get(request) = @client.get(request.cache_key)

        # Keeps the Response.
        def set(request, response) = @client.set(request.cache_key, response, request.cache_ttl || @default_ttl)
      end

      # Rails.cache, or another ActiveSupport::Cache::Store.
      class Rails
        def initialize(cache = ::Rails.cache, options = {})
          @cache = cache
          @default_ttl = options[:default_ttl]
        end

        # The Response, nil for none.
        def get(request) = @cache.read(request.cache_key)

        # Keeps the Response.
        def set(request, response)
          @cache.write(request.cache_key, response, expires_in: request.cache_ttl || @default_ttl)
        end
      end

      # A Redis client.
      class Redis
        def initialize(redis = ::Redis.new, options = {})
          @redis = redis
          @default_ttl = options[:default_ttl]
        end

        # The Response, nil for none. It is unmarshalled: nobody but this program may write there.
        def get(request)
          text = @redis.get(request.cache_key)
          Marshal.load(text) if text
        end

        # Keeps the Response.
        def set(request, response)
          ttl = request.cache_ttl || @default_ttl
          @redis.set(request.cache_key, Marshal.dump(response))
          @redis.expire(request.cache_key, ttl) if ttl
        end
      end
    end
  end
end
