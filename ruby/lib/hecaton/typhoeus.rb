# The drop-in for Typhoeus, under the name that programs require.
require_relative "adapters/typhoeus"
