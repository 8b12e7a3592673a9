# Hecaton::Typhoeus: what the typhoeus gem offers, on Hecaton's engine. A table of contents.
require "hecaton"

# See docs/from-typhoeus.md for what is the same and what differs.
module Hecaton::Typhoeus
  # The version of Typhoeus with this interface.
  VERSION = "1.6.0"
  # Sent as User-Agent unless the request or Config.user_agent sets another.
  USER_AGENT = "Typhoeus - https://github.com/typhoeus/typhoeus"
end

# In this order, because some need others while they are loaded.
%w[
  ethon errors return_codes config header debug_info facts response_informations response_status response
  callbacks expectation layers query form clients refusals cookie_files
  proxy_options tls_options client_options request_options plan takers in_parts exchange overrides request sent
  transfers hydra
  cache verbs
].each { |name| require_relative "#{name}" }
require_relative "params_decoder" if defined?(Rack)
