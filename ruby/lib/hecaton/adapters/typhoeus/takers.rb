# Which options there are, and which method of Plan takes each.
module Hecaton
  module Typhoeus
    class Plan
      # Option → the method that takes it. An option with nil needs nothing: Hecaton does it anyhow, or it only says how
      # much memory to use.
      TAKERS = {
        method: :set_method, body: :set_body, params: :set_params, headers: :set_headers, params_encoding: :set_params_encoding,
        escape: :set_escape, multipart: :set_multipart, timeout: :set_timeout, timeout_ms: :set_timeout_ms,
        connecttimeout: :set_connecttimeout, connecttimeout_ms: :set_connecttimeout_ms,
        followlocation: :set_followlocation, maxredirs: :set_maxredirs, cookie: :set_cookie, referer: :set_referer,
        useragent: :set_useragent, range: :set_range, resume_from: :set_resume_from, resume_from_large: :set_resume_from,
        timecondition: :set_timecondition, timevalue: :set_timevalue, customrequest: :set_customrequest, nobody: :set_nobody,
        httpget: :set_httpget, post: :set_post, put: :set_put, upload: :set_put, port: :set_port, failonerror: :set_failonerror,
        verbose: :set_verbose, protocols: :set_protocols, redir_protocols: :set_redir_protocols,
        postfields: :set_body, copypostfields: :set_body, set_read_callback: :set_body,
        postredir: :set_postridir, post301: :set_postridir, transfer_encoding: :set_encoding_of_transfer,
        userpwd: :set_userpwd, username: :set_username, password: :set_password, httpauth: :set_httpauth,
        proxy: :set_proxy, proxyport: :set_proxyport, proxytype: :set_proxytype, proxyuserpwd: :set_proxyuserpwd,
        proxyusername: :set_proxyusername, proxypassword: :set_proxypassword, proxyauth: :set_proxyauth, noproxy: :set_noproxy,
        httpproxytunnel: :set_httpproxytunnel,
        ssl_verifypeer: :set_ssl_verifypeer, ssl_verifyhost: :set_ssl_verifyhost, cainfo: :set_cainfo, capath: :set_capath,
        sslcert: :set_sslcert, sslkey: :set_sslkey, keypasswd: :set_keypasswd, sslcertpasswd: :set_keypasswd,
        sslkeypasswd: :set_keypasswd, sslcerttype: :set_type, sslkeytype: :set_type, sslversion: :set_sslversion,
        pinnedpublickey: :set_pinnedpublickey, pinned_public_key: :set_pinnedpublickey,
        forbid_reuse: :set_forbid_reuse, fresh_connect: :set_forbid_reuse, maxconnects: :set_maxconnects,
        accept_encoding: :set_accept_encoding, http_content_decoding: :set_http_content_decoding, http_version: :set_http_version,
        resolve: :set_resolve, ipresolve: :set_ipresolve, unix_socket_path: :set_unix_socket_path, unix_socket: :set_unix_socket_path,
        maxfilesize: :set_maxfilesize, maxfilesize_large: :set_maxfilesize, low_speed_limit: :set_low_speed_limit,
        low_speed_time: :set_low_speed_time,
        cookiefile: :set_cookiefile, cookiejar: :set_cookiejar, cookiesession: :set_cookiesession, cookielist: :set_cookielist,
        netrc: :set_off, netrc_file: :set_refused, autoreferer: :set_off, unrestricted_auth: :set_off, path_as_is: :set_path_as_is,
        tcp_nodelay: :set_on, tcp_keepalive: :set_off, ssl_sessionid_cache: nil, dns_cache_timeout: nil, dns_use_global_cache: nil,
        pipewait: nil, buffersize: nil, nosignal: nil, noprogress: nil, infilesize: nil, infilesize_large: nil, postfieldsize: nil,
        postfieldsize_large: nil, cache: nil, cache_ttl: nil, certinfo: nil
      }.freeze
    end
  end
end
