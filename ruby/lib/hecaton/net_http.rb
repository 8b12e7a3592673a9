# The drop-ins for Net::HTTP and Net::HTTP::Persistent, under the name that programs require.
require_relative "adapters/net_http"
