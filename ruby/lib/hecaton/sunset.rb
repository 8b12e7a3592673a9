# The middleware for Rack, under the name that programs require.
require_relative "adapters/sunset"
