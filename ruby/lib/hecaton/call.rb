# The connections of Faraday for an application, under the name that programs require.
require_relative "adapters/call"
