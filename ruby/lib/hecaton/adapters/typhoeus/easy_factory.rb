# Old names of Typhoeus's options.
module Hecaton
  module Typhoeus
    # Says which old names are still accepted, and which are refused.
    module EasyFactory
      # Old names and their new ones. The old names are accepted with a warning.
      RENAMED_OPTIONS = {
        auth_method: :httpauth, connect_timeout: :connecttimeout, encoding: :accept_encoding, follow_location: :followlocation,
        max_redirects: :maxredirs, proxy_type: :proxytype, ssl_cacert: :cainfo, ssl_capath: :capath, ssl_cert: :sslcert,
        ssl_cert_type: :sslcerttype, ssl_key: :sslkey, ssl_key_password: :keypasswd, ssl_key_type: :sslkeytype,
        ssl_version: :sslversion
      }.freeze
      # Refused, because the value has another meaning under the new name.
      CHANGED_OPTIONS = {
        disable_ssl_host_verification: :ssl_verifyhost, disable_ssl_peer_verification: :ssl_verifypeer, proxy_auth_method: :proxyauth
      }.freeze
      # Refused, without a new name.
      REMOVED_OPTIONS = %i[cache_key_basis cache_timeout user_agent].freeze
    end
  end
end
