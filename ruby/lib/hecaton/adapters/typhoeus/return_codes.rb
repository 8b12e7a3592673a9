# The results of transfers, in libcurl's words.

module Hecaton::Typhoeus
  # Return codes by libcurl's names, as Ethon spells them, with what curl_easy_strerror says of each.
  module ReturnCodes
    # libcurl's text for each code.
    TEXTS = {
      ok: "No error",
      unsupported_protocol: "Unsupported protocol",
      failed_init: "Failed initialization",
      url_malformat: "URL using bad/illegal format or missing URL",
      not_built_in:
        "A requested feature, protocol or option was not found built-in in this libcurl due to a build-time decision.",
      couldnt_resolve_proxy: "Couldn't resolve proxy name",
      couldnt_resolve_host: "Couldn't resolve host name",
      couldnt_connect: "Couldn't connect to server",
      ftp_weird_server_reply: "Weird server reply",
      remote_access_denied: "Access denied to remote resource",
      ftp_accept_failed: "FTP: The server failed to connect to data port",
      ftp_weird_pass_reply: "FTP: unknown PASS reply",
      ftp_accept_timeout: "FTP: Accepting server connect has timed out",
      ftp_weird_pasv_reply: "FTP: unknown PASV reply",
      ftp_weird_227_format: "FTP: unknown 227 response format",
      ftp_cant_get_host: "FTP: can't figure out the host in the PASV response",
      http2: "Error in the HTTP2 framing layer",
      ftp_couldnt_set_type: "FTP: couldn't set file type",
      partial_file: "Transferred a partial file",
      ftp_couldnt_retr_file: "FTP: couldn't retrieve (RETR failed) the specified file",
      quote_error: "Quote command returned error",
      http_returned_error: "HTTP response code said error",
      write_error: "Failed writing received data to disk/application",
      upload_failed: "Upload failed (at start/before it took off)",
      read_error: "Failed to open/read local data from file/application",
      out_of_memory: "Out of memory",
      operation_timedout: "Timeout was reached",
      ftp_port_failed: "FTP: command PORT failed",
      ftp_couldnt_use_rest: "FTP: command REST failed",
      range_error: "Requested range was not delivered by the server",
      http_post_error: "Internal problem setting up the POST",
      ssl_connect_error: "SSL connect error",
      bad_download_resume: "Couldn't resume download",
      file_couldnt_read_file: "Couldn't read a file:// file",
      ldap_cannot_bind: "LDAP: cannot bind",
      ldap_search_failed: "LDAP: search failed",
      function_not_found: "A required function in the library was not found",
      aborted_by_callback: "Operation was aborted by an application callback",
      bad_function_argument: "A libcurl function was given a bad argument",
      interface_failed: "Failed binding local connection end",
      too_many_redirects: "Number of redirects hit maximum amount",
      unknown_option: "An unknown option was passed in to libcurl",
      telnet_option_syntax: "Malformed option provided in a setopt",
      got_nothing: "Server returned nothing (no headers, no data)",
      ssl_engine_notfound: "SSL crypto engine not found",
      ssl_engine_setfailed: "Cannot set SSL crypto engine as default",
      send_error: "Failed sending data to the peer",
      recv_error: "Failure when receiving data from the peer",
      ssl_certproblem: "Problem with the local SSL certificate",
      ssl_cipher: "Couldn't use specified SSL cipher",
      peer_failed_verification: "SSL peer certificate or SSH remote key was not OK",
      bad_content_encoding: "Unrecognized or bad HTTP Content or Transfer-Encoding",
      filesize_exceeded: "Maximum file size exceeded",
      use_ssl_failed: "Requested SSL level failed",
      send_fail_rewind: "Send failed since rewinding of the data stream failed",
      ssl_engine_initfailed: "Failed to initialise SSL crypto engine",
      login_denied: "Login denied",
      tftp_notfound: "TFTP: File Not Found",
      tftp_perm: "TFTP: Access Violation",
      remote_disk_full: "Disk full or allocation exceeded",
      tftp_illegal: "TFTP: Illegal operation",
      tftp_unknownid: "TFTP: Unknown transfer ID",
      remote_file_exists: "Remote file already exists",
      tftp_nosuchuser: "TFTP: No such user",
      ssl_cacert_badfile: "Problem with the SSL CA cert (path? access rights?)",
      remote_file_not_found: "Remote file not found",
      ssh: "Error in the SSH layer",
      ssl_shutdown_failed: "Failed to shut down the SSL connection",
      again: "Socket not ready for send/recv",
      ssl_crl_badfile: "Failed to load CRL file (path? access rights?, format?)",
      ssl_issuer_error: "Issuer check against peer certificate failed",
      ftp_pret_failed: "FTP: The server did not accept the PRET command.",
      rtsp_cseq_error: "RTSP CSeq mismatch or invalid CSeq",
      rtsp_session_error: "RTSP session error",
      ftp_bad_file_list: "Unable to parse FTP file list",
      chunk_failed: "Chunk callback failed",
      last: "The max connection limit is reached",
      **%i[
        obsolete20 obsolete24 obsolete29 obsolete32 obsolete40 obsolete44 obsolete46 obsolete50 obsolete51 obsolete57
        ldap_invalid_url conv_failed conv_reqd
      ].to_h { |code| [code, "Unknown error"] }
    }.freeze

    module_function

    # The sentence, nil for what is no return code.
    def text(code) = TEXTS[code]

    # The return code for the outcome of a request: a Hecaton::Response, a Hecaton::Error, or a Hecaton::Stream's.
    def of(outcome)
      case outcome
      when Hecaton::TimeoutError then :operation_timedout
      when Hecaton::ResolveError
        outcome.reason == :proxy_unresolved ? :couldnt_resolve_proxy : :couldnt_resolve_host
      when Hecaton::ConnectError then connect(outcome)
      when Hecaton::TLSError then tls(outcome)
      when Hecaton::ProtocolError then protocol(outcome)
      when Hecaton::BodyError then body(outcome)
      when Hecaton::RedirectError then redirect(outcome.reason)
      when Hecaton::URLError then outcome.reason == :scheme_unsupported ? :unsupported_protocol : :url_malformat
      when Hecaton::Error then :aborted_by_callback
      else :ok
      end
    end

    # Reasons for which the certificate of a server is not accepted.
    UNVERIFIED = %i[
      certificate_expired certificate_not_yet_valid certificate_untrusted certificate_wrong_host certificate_revoked
      certificate_not_pinned certificate_invalid certificate_missing
    ].freeze
    private_constant :UNVERIFIED

    private_class_method def connect(error)
      return :recv_error if error.reason == :proxy_refused # libcurl could not receive what it waited for.

      error.phase == :tls ? :ssl_connect_error : :couldnt_connect
    end

    # That of a proxy is refused in the phase :connect.
    private_class_method def tls(error)
      UNVERIFIED.include?(error.reason) && error.phase == :tls ? :peer_failed_verification : :ssl_connect_error
    end

    private_class_method def protocol(error)
      return :http2 if error.attempts.last&.version == "2"
      return :send_error if error.phase == :send
      return :unsupported_protocol if error.reason == :response_malformed

      error.cause ? :recv_error : :got_nothing
    end

    private_class_method def body(error)
      return :read_error if error.phase == :send

      case error.reason
      when :body_too_large then :filesize_exceeded
      when :body_undecodable then :bad_content_encoding
      when :body_malformed then :recv_error
      else error.cause ? :recv_error : :partial_file
      end
    end

    private_class_method def redirect(reason)
      case reason
      when :location_invalid then :url_malformat
      when :scheme_unsupported then :unsupported_protocol
      else :too_many_redirects
      end
    end
  end
end
