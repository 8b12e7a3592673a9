# The settings of a client. Generated: HECATON_UPDATE=1 cargo test -p hecaton-e2e --test settings
module Hecaton
  # Names of settings, for Client.
  module Settings
    # Those that the engine reads once for a client.
    OF_ENGINE = %i[
      timeout connect_timeout resolve_timeout resolve allow_address unix_socket local_address proxy no_proxy tls_timeout
      send_timeout first_byte_timeout expect_timeout read_timeout queue_timeout per_origin max_connections max_queue
      retry reconnect redirects redirects_to_http redirect_hosts cookies http ca crl client_cert client_key tls_min pins
      verify verify_hostname idle_timeout max_idle max_age max_body max_buffered max_header_fields max_header_bytes
      lenient decode decode_always concurrency user_agent
    ].freeze

    # Those of Ruby alone.
    OF_RUBY = %i[
      raise_for_status on_deprecation client_key_password app_name app_env headers public_headers base_url strict_urls
      basic_auth bearer digest_auth features logger
    ].freeze

    # Every setting.
    NAMES = (OF_ENGINE + OF_RUBY).freeze

    # Settings of connections, which clients that share them have in common.
    OF_CONNECTIONS = %i[
      connect_timeout resolve_timeout resolve allow_address unix_socket local_address proxy no_proxy tls_timeout
      queue_timeout per_origin max_connections max_queue http ca crl client_cert client_key tls_min pins verify
      verify_hostname idle_timeout max_idle max_age max_buffered max_header_fields max_header_bytes client_key_password
    ].freeze

    # Times in seconds.
    TIMES = %i[
      timeout connect_timeout resolve_timeout tls_timeout send_timeout first_byte_timeout expect_timeout read_timeout
      queue_timeout idle_timeout max_age
    ].freeze

    # Options of a request.
    OF_REQUESTS = %i[
      headers body timeout params basic_auth bearer redirects raise_for_status json form multipart digest_auth retry
    ].freeze
  end

  class Client
    # The settings, with their types, defaults and meanings, are a table in docs/settings.md. nil is the default, and
    # times are in seconds.
    def initialize(timeout:, connect_timeout: nil, resolve_timeout: nil, resolve: nil, allow_address: nil,
      unix_socket: nil, local_address: nil, proxy: nil, no_proxy: nil, tls_timeout: nil, send_timeout: nil,
      first_byte_timeout: nil, expect_timeout: nil, read_timeout: nil, queue_timeout: nil, per_origin: nil,
      max_connections: nil, max_queue: nil, retry: nil, reconnect: nil, redirects: nil, redirects_to_http: nil,
      redirect_hosts: nil, cookies: nil, http: nil, ca: nil, crl: nil, client_cert: nil, client_key: nil, tls_min: nil,
      pins: nil, verify: nil, verify_hostname: nil, idle_timeout: nil, max_idle: nil, max_age: nil, max_body: nil,
      max_buffered: nil, max_header_fields: nil, max_header_bytes: nil, lenient: nil, decode: nil, decode_always: nil,
      concurrency: nil, user_agent: nil, raise_for_status: nil, on_deprecation: nil, client_key_password: nil,
      app_name: nil, app_env: nil, headers: nil, public_headers: nil, base_url: nil, strict_urls: nil, basic_auth: nil,
      bearer: nil, digest_auth: nil, features: nil, logger: nil)
      configure(Derivation.given(binding, Settings::NAMES))
    end
  end
end
