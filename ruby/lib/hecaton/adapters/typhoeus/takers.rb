# Which options there are, and what of Plan takes each.
module Hecaton
  module Typhoeus
    class Plan
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
        capath: %i[@ca_path to_s], sslcert: %i[@cert to_s], sslkey: %i[@key to_s], keypasswd: %i[@key_password to_s],
        sslcertpasswd: %i[@key_password to_s], sslkeypasswd: %i[@key_password to_s], cookiejar: %i[@cookie_jar to_s],
        cookiesession: %i[@cookie_session on?], low_speed_limit: %i[@low_speed_limit to_i],
        body: :set_body, headers: :set_headers, timeout: :set_timeout, timeout_ms: :set_timeout_ms,
        connecttimeout: :set_connecttimeout, connecttimeout_ms: :set_connecttimeout_ms, cookie: :set_cookie, referer: :set_referer,
        useragent: :set_useragent, range: :set_range, resume_from: :set_resume_from, resume_from_large: :set_resume_from,
        timecondition: :set_timecondition, nobody: :set_nobody, httpget: :set_httpget, post: :set_post, put: :set_put,
        upload: :set_put, port: :set_port, protocols: :set_protocols, redir_protocols: :set_redir_protocols,
        postfields: :set_body, copypostfields: :set_body, set_read_callback: :set_body,
        postredir: :set_postridir, post301: :set_postridir, transfer_encoding: :set_encoding_of_transfer,
        userpwd: :set_userpwd, httpauth: :set_httpauth, proxyport: :set_proxyport, proxytype: :set_proxytype,
        proxyuserpwd: :set_proxyuserpwd, proxyauth: :set_proxyauth, noproxy: :set_noproxy,
        httpproxytunnel: :set_httpproxytunnel, sslcerttype: :set_type, sslkeytype: :set_type, sslversion: :set_sslversion,
        pinnedpublickey: :set_pinnedpublickey, pinned_public_key: :set_pinnedpublickey,
        forbid_reuse: :set_forbid_reuse, fresh_connect: :set_forbid_reuse, maxconnects: :set_maxconnects,
        accept_encoding: :set_accept_encoding, http_content_decoding: :set_http_content_decoding, http_version: :set_http_version,
        resolve: :set_resolve, ipresolve: :set_ipresolve, unix_socket_path: :set_unix_socket_path, unix_socket: :set_unix_socket_path,
        maxfilesize: :set_maxfilesize, maxfilesize_large: :set_maxfilesize, low_speed_time: :set_low_speed_time,
        cookiefile: :set_cookiefile, cookielist: :set_cookielist,
        netrc: :set_off, netrc_file: :set_refused, autoreferer: :set_off, unrestricted_auth: :set_off,
        tcp_nodelay: :set_on, tcp_keepalive: :set_off, ssl_sessionid_cache: nil, dns_cache_timeout: nil, dns_use_global_cache: nil,
        pipewait: nil, buffersize: nil, nosignal: nil, noprogress: nil, infilesize: nil, infilesize_large: nil, postfieldsize: nil,
        postfieldsize_large: nil, cache: nil, cache_ttl: nil, certinfo: nil
      }.freeze
    end
  end
end
