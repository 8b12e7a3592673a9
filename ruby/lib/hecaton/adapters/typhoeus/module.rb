# Hecaton::Typhoeus: what the typhoeus gem offers, on Hecaton's engine. A table of contents.
require "hecaton"

module Hecaton
  # See docs/from-typhoeus.md for what is the same and what differs.
  module Typhoeus
    # The version of Typhoeus with this interface.
    VERSION = "1.6.0"
    # Sent as User-Agent unless the request or Config.user_agent sets another.
    USER_AGENT = "Typhoeus - https://github.com/typhoeus/typhoeus"
  end
end

require_relative "ethon"
require_relative "errors"
require_relative "return_codes"
require_relative "config"
require_relative "header"
require_relative "debug_info"
require_relative "reasons"
require_relative "facts"
require_relative "response_informations"
require_relative "response_status"
require_relative "response"
require_relative "actions"
require_relative "callbacks"
require_relative "expectation"
require_relative "layers"
require_relative "query"
require_relative "form"
require_relative "clients"
require_relative "easy_factory"
require_relative "refusals"
require_relative "cookie_files"
require_relative "option_values"
require_relative "authentication"
require_relative "proxy_options"
require_relative "tls_options"
require_relative "client_options"
require_relative "request_options"
require_relative "plan"
require_relative "takers"
require_relative "exchange"
require_relative "request"
require_relative "transfers"
require_relative "hydra"
require_relative "cache"
require_relative "pool"
require_relative "verbs"
require_relative "params_decoder" if defined?(Rack)
