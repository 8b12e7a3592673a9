# Which options there are, and what of Plan takes each.

class Hecaton::Typhoeus::Plan
  # Option → the method that takes it; or the variable that holds it, and the method that makes its value. An option
  # with nil needs nothing: Hecaton does it anyhow, or it only says how much memory to use.
  TAKERS = {
    method: %i[@method itself], params: %i[@params itself], params_encoding: %i[@params_encoding itself],
    escape: %i[@escape itself], multipart: %i[@wants_multipart itself], followlocation: %i[@follow on?],
    maxredirs: %i[@most_redirects to_i], timevalue: %i[@time_value to_i], customrequest: %i[@custom to_s],
    failonerror: %i[@fail_on_error on?], verbose: %i[@verbose on?], path_as_is: %i[@path_as_is on?],
    username: %i[@username to_s], password: %i[@password to_s], proxy: %i[@proxy to_s],
    proxyusername: %i[@proxy_user to_s], proxypassword: %i[@proxy_password to_s],
    ssl_verifypeer: %i[@verify_peer on?], ssl_verifyhost: %i[@verify_host on?], cainfo: %i[@ca_file to_s],
    crlfile: %i[@crl_file to_s], port: %i[@port to_i], proxyport: %i[@proxy_port to_i],
    capath: %i[@ca_path to_s], sslcert: %i[@cert to_s], sslkey: %i[@key to_s], keypasswd: %i[@key_password to_s],
    sslcertpasswd: %i[@key_password to_s], sslkeypasswd: %i[@key_password to_s], cookiejar: %i[@cookie_jar to_s],
    cookiesession: %i[@cookie_session on?], low_speed_limit: %i[@low_speed_limit to_i],
    **%i[
      body headers timeout timeout_ms connecttimeout connecttimeout_ms cookie referer useragent range resume_from
      timecondition protocols redir_protocols userpwd httpauth proxytype proxyuserpwd proxyauth noproxy
      httpproxytunnel sslversion pinnedpublickey forbid_reuse maxconnects accept_encoding http_content_decoding
      http_version resolve ipresolve unix_socket_path maxfilesize low_speed_time cookiefile cookielist
      interface
    ].to_h { |name| [name, :"set_#{name}"] },
    postfields: :set_body, copypostfields: :set_body, set_read_callback: :set_body,
    nobody: :set_implied, httpget: :set_implied, post: :set_implied, put: :set_implied, upload: :set_implied,
    postredir: :set_postredir, post301: :set_postredir, transfer_encoding: :set_encoding_of_transfer,
    sslcerttype: :set_type, sslkeytype: :set_type, pinned_public_key: :set_pinnedpublickey,
    fresh_connect: :set_forbid_reuse, resume_from_large: :set_resume_from, unix_socket: :set_unix_socket_path,
    maxfilesize_large: :set_maxfilesize, netrc: :set_off, netrc_file: :set_refused, autoreferer: :set_off,
    unrestricted_auth: :set_off, tcp_nodelay: :set_on, tcp_keepalive: :set_off,
    **%i[
      ssl_sessionid_cache dns_cache_timeout dns_use_global_cache pipewait buffersize nosignal noprogress infilesize
      infilesize_large postfieldsize postfieldsize_large cache cache_ttl certinfo
    ].to_h { |name| [name, nil] }
  }.freeze
end
