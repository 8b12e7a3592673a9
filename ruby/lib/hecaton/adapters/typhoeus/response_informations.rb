# The facts of a response about its transfer.

module Hecaton::Typhoeus
  class Response
    # Included by Response. Times are seconds as Floats, sizes bytes, speeds bytes a second. The four that nearly each
    # program reads do not need the Hash of all that is known.
    module Informations
      # Symbol such as :ok or :operation_timedout, nil in a response made by hand that does not say.
      def return_code = @options ? @options[:return_code] : @own_code || ReturnCodes.of(@outcome)

      # libcurl's sentence for it, nil where there is no return code.
      def return_message = ReturnCodes.text(return_code)

      # String of bytes (ASCII-8BIT), as in Typhoeus; of a response made by hand what it was given.
      def response_body = @options ? @options[:response_body] || @options[:body] : body_bytes
      alias body response_body

      # String: heads of all responses, those of redirects that were followed first.
      def response_headers
        return options[:response_headers] if options[:response_headers]

        mock_head(options[:headers]) if mock? && options[:headers]
      end

      # Integer: the status, 0 when there was no response.
      def response_code
        return (@options[:response_code] || @options[:code]).to_i if @options

        @own_status || @outcome.status || Facts.status(@outcome)
      end
      alias code response_code

      # From the start to the last byte.
      def total_time = @options ? @options[:total_time] || @options[:time] : @outcome.elapsed
      alias time total_time

      # From the start to the first byte of the response.
      def starttransfer_time = options[:starttransfer_time] || options[:start_transfer_time]
      alias start_transfer_time starttransfer_time

      # From the start to the end of the TLS handshake, 0 without one.
      def appconnect_time = options[:appconnect_time] || options[:app_connect_time]
      alias app_connect_time appconnect_time

      # From the start to the addresses of the host.
      def namelookup_time = options[:namelookup_time] || options[:name_lookup_time]
      alias name_lookup_time namelookup_time

      # Array of Hash with Strings, one for each certificate of the server, with libcurl's names: "Subject", "Issuer",
      # "Start date", "Cert" and the like. Empty without TLS. It needs no option.
      def certinfo
        (options[:tls]&.certificates || []).map do |shown|
          { "Subject" => shown.subject.to_utf8, "Issuer" => shown.issuer.to_utf8, "Version" => shown.version.to_s(16),
            "Serial Number" => shown.serial.to_s(16).downcase, "Signature Algorithm" => shown.signature_algorithm,
            "Start date" => shown.not_before.strftime(DATE), "Expire date" => shown.not_after.strftime(DATE),
            "Cert" => shown.to_pem }
        end
      end

      # How libcurl writes a date of a certificate.
      DATE = "%b %e %H:%M:%S %Y GMT".freeze
      private_constant :DATE

      # httpauth_avail:: Integer, of what a 401 offers: 1 for Basic, 2 for Digest, 4 for Negotiate, 8 for NTLM, added.
      # connect_time:: from the start to the connection, 0 on a reused connection.
      # pretransfer_time:: from the start to when the request could be sent.
      # redirect_time:: that all redirects took together.
      # effective_url:: the URL of the response; with the fragment of the request, unless a redirect led elsewhere.
      # primary_ip:: the address that was connected to, which is the proxy's if there is one; nil without connection.
      # primary_port::, local_ip::, local_port:: its port, and this end of the connection. Typhoeus itself has no such
      #   methods; the names are libcurl's.
      # redirect_count:: how many redirects were followed.
      # redirect_url:: where a redirect that was not followed leads, nil for none.
      # request_size:: nil, because the engine does not report it.
      # size_upload:: bytes of the request's body, as far as its size was known.
      # size_download:: bytes of the response's body, decoded.
      # speed_upload::, speed_download:: Float: bytes a second; nil when nothing is known.
      # debug_info:: DebugInfo: heads, with `verbose`.
      %i[
        httpauth_avail connect_time pretransfer_time redirect_time effective_url primary_ip primary_port local_ip
        local_port redirect_count redirect_url request_size size_upload size_download speed_upload speed_download
        debug_info
      ].each { |name| define_method(name) { options[name] } }

      # Header; nil for a response made by hand without.
      def headers
        return Header.new(options[:headers]) if mock? && options[:headers]
        return if response_headers.nil? && !defined?(@headers)

        @headers ||= Header.new(response_headers.split("\r\n\r\n").last)
      end
      alias headers_hash headers

      # Array of Response: redirects that were followed, each with its status and Location.
      def redirections
        return [] unless response_headers

        response_headers.split("\r\n\r\n")[0..-2].map { |head| Response.new(response_headers: head) }
      end

      private

      # As Typhoeus makes it up for a stub.
      def mock_head(headers)
        code = return_code || "200"
        lines = headers.map { |name, value| "#{name}: #{value.respond_to?(:join) ? value.join(",") : value}" }
        ["HTTP/1.1 #{code} #{code == "200" ? "OK" : "Mock Reason Phrase"}", *lines].join("\r\n")
      end
    end
  end
end
