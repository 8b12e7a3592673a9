# Old names of options, and why an option is refused, in Ethon's errors.

module Hecaton::Typhoeus
  # Says which old names are still accepted, and which are refused.
  module EasyFactory
    # Old names and their new ones. The old names are accepted with a warning.
    RENAMED_OPTIONS = {
      auth_method: :httpauth, connect_timeout: :connecttimeout, encoding: :accept_encoding,
      follow_location: :followlocation,
      max_redirects: :maxredirs, proxy_type: :proxytype, ssl_cacert: :cainfo, ssl_capath: :capath, ssl_cert: :sslcert,
      ssl_cert_type: :sslcerttype, ssl_key: :sslkey, ssl_key_password: :keypasswd, ssl_key_type: :sslkeytype,
      ssl_version: :sslversion
    }.freeze
    # Refused, because the value has another meaning under the new name.
    CHANGED_OPTIONS = {
      disable_ssl_host_verification: :ssl_verifyhost, disable_ssl_peer_verification: :ssl_verifypeer,
      proxy_auth_method: :proxyauth
    }.freeze
    # Refused, without a new name.
    REMOVED_OPTIONS = %i[cache_key_basis cache_timeout user_agent].freeze
  end

  # Options of Typhoeus that Hecaton lacks, by name; and options that no Typhoeus has.
  module Refusals
    # Reason → options.
    REASONS = {
      "it is for another protocol than HTTP, and Hecaton supports HTTP alone" => %i[
        append chunk_bgn_function chunk_data chunk_end_function crlf dirlistonly filetime fnmatch_data
        fnmatch_function ftp_account ftp_alternative_to_user ftp_create_missing_dirs ftp_filemethod
        ftp_response_timeout ftp_skip_pasv_ip ftp_ssl ftp_ssl_ccc ftp_use_eprt ftp_use_epsv ftp_use_pret ftpappend
        ftplistonly ftpport ftpsslauth accepttimeout_ms interleavedata interleavefunction khstat krb4level krblevel
        mail_auth mail_from mail_rcpt new_directory_perms new_file_perms postquote prequote proxy_transfer_mode quote
        rtsp_client_cseq rtsp_request rtsp_server_cseq rtsp_session_id rtsp_stream_uri rtsp_transport rtspheader
        sasl_ir server_response_timeout ssh_auth_types ssh_host_public_key_md5 ssh_keydata ssh_keyfunction
        ssh_knownhosts ssh_private_keyfile ssh_public_keyfile telnetoptions tftp_blksize transfertext use_ssl
        wildcardmatch
      ],
      "it is a callback of libcurl's in C, and there is no libcurl here" => %i[
        closesocketdata closesocketfunction conv_from_network_function conv_from_utf8_function
        conv_to_network_function debugdata debugfunction errorbuffer file headerdata headerfunction httpheader
        httppost infile ioctldata ioctlfunction opensocketdata opensocketfunction private progressdata
        progressfunction readdata readfunction seekdata seekfunction share sockoptdata sockoptfunction ssl_ctx_data
        ssl_ctx_function stderr writedata writefunction writeheader xferinfodata xferinfofunction
      ],
      "names are resolved as the system does" => %i[dns_interface dns_local_ip4 dns_servers dns_shuffle_addresses],
      "Hecaton's TLS has no such setting" => %i[
        egdsocket issuercert random_file ssl_cipher_list ssl_options sslengine sslengine_default
        tlsauth_password tlsauth_type tlsauth_username
      ],
      "a proxy over TLS is trusted as servers are, by the system's authorities or cainfo" => %i[
        pre_proxy proxy_cainfo proxy_capath proxy_crlfile proxy_issuercert proxy_keypasswd proxy_pinned_public_key
        proxy_pinnedpublickey proxy_ssl_cipher_list proxy_ssl_options proxy_ssl_verifyhost proxy_ssl_verifypeer
        proxy_sslcert proxy_sslcertpasswd proxy_sslcerttype proxy_sslkey proxy_sslkeypasswd proxy_sslkeytype
        proxy_sslversion proxy_tlsauth_password proxy_tlsauth_type proxy_tlsauth_username
      ],
      "Hecaton has no such setting of sockets" => %i[
        address_scope connect_only localport localportrange max_recv_speed_large max_send_speed_large
        tcp_fastopen tcp_keepidle tcp_keepintvl
      ],
      "Kerberos (GSSAPI) is not supported" => %i[gssapi_delegation socks5_gssapi_nec socks5_gssapi_service],
      "the URL of a request is the first argument of `new`" => %i[url],
      "Hecaton always does it in its own way" => %i[
        header http200aliases http_transfer_decoding ignore_content_length
      ]
    }.flat_map { |reason, names| names.map { |name| [name, reason] } }.to_h.freeze

    module_function

    # Raises Ethon::Errors::InvalidOption for an option that is never taken.
    def option(name)
      help =
        if (other = EasyFactory::CHANGED_OPTIONS[name]) then "Please try #{other} instead of #{name}."
        elsif EasyFactory::REMOVED_OPTIONS.include?(name) then "The option #{name} was removed."
        elsif (reason = REASONS[name]) then "Hecaton cannot honour #{name}: #{reason}."
        end
      error = Ethon::Errors::InvalidOption.new(name)
      raise help ? error.exception("#{error.message}\n#{help}") : error
    end

    # Raises Ethon::Errors::InvalidValue: this option is taken, but not with this value. why is a sentence. A value
    # that may be secret is not to be shown.
    def value(name, value, why)
      error = Ethon::Errors::InvalidValue.new(name, value)
      raise error.exception("#{error.message}\n#{why}")
    end
  end
end
