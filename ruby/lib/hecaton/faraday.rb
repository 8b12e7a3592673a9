# The adapter for Faraday, under the name that programs require.
require_relative "adapters/faraday"
