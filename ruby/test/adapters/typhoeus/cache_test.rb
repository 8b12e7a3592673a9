# Stores for responses: Redis, Dalli, Rails, and any other.
require_relative "drop_in"
require "active_support"
require "active_support/cache"

class TyphoeusCacheTest < DropInTest
  # The methods of a Redis client that the adapter calls.
  class Redis
    attr_reader :expiries

    def initialize = (@stored, @expiries = {}, [])
    def get(key) = @stored[key]
    def set(key, value) = @stored[key] = value
    def expire(_key, seconds) = @expiries << seconds
  end

  # A stand-in for Dalli.
  class Dalli < Redis
    def set(key, value, ttl)
      @expiries << ttl
      super(key, Marshal.dump(value))
    end

    def get(key) = super&.then { |text| Marshal.load(text) }
  end

  def check(cache)
    Typhoeus::Config.cache = cache
    with_real_server do |real_server|
      seen = Array.new(2) { Typhoeus.get("#{real_server.url}/r/1", timeout: 5) }
      hydra = Typhoeus::Hydra.new
      3.times do
        request = Typhoeus::Request.new("#{real_server.url}/r/1", timeout: 5, method: :get)
        request.on_complete { |response| seen << response }
        hydra.queue(request)
      end
      hydra.run
      assert_equal [false, true, true, true, true], seen.map(&:cached?)
      assert_equal 1,
        seen.map { |response| [response.code, response.body, response.headers, response.total_time] }.uniq.size
      assert_equal 1, real_server.ledger.fetch("requests")
    end
  end

  def test_redis
    redis = Redis.new
    check(Typhoeus::Cache::Redis.new(redis, default_ttl: 60))
    assert_equal [60], redis.expiries
  end

  def test_dalli
    dalli = Dalli.new
    check(Typhoeus::Cache::Dalli.new(dalli, default_ttl: 60))
    assert_equal [60], dalli.expiries
  end

  def test_rails = check(Typhoeus::Cache::Rails.new(ActiveSupport::Cache::MemoryStore.new))
end
