# Names of options that Typhoeus had before.
module Hecaton
  module Typhoeus
    # Their new names.
    module EasyFactory
      # Still taken, with a warning.
      RENAMED_OPTIONS = {
        auth_method: :httpauth, connect_timeout: :connecttimeout, encoding: :accept_encoding, follow_location: :followlocation,
        max_redirects: :maxredirs, proxy_type: :proxytype, ssl_cacert: :cainfo, ssl_capath: :capath, ssl_cert: :sslcert,
        ssl_cert_type: :sslcerttype, ssl_key: :sslkey, ssl_key_password: :keypasswd, ssl_key_type: :sslkeytype,
        ssl_version: :sslversion
      }.freeze
      # Refused; the meaning of the value is another.
      CHANGED_OPTIONS = {
        disable_ssl_host_verification: :ssl_verifyhost, disable_ssl_peer_verification: :ssl_verifypeer, proxy_auth_method: :proxyauth
      }.freeze
      # Refused.
      REMOVED_OPTIONS = %i[cache_key_basis cache_timeout user_agent].freeze
    end
  end
end
