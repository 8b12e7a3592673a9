# How a response is judged.
module Hecaton
  module Typhoeus
    class Response
      # Included by Response.
      module Status
        # String such as "OK", nil when there was no response. A real response over HTTP/1.1 has the standard's reason,
        # whatever the server wrote.
        def status_message
          return @status_message if defined?(@status_message) && @status_message
          return options[:status_message] unless options[:status_message].nil?

          @status_message = first_header_line&.[](/\d{3} (.*)$/, 1)&.chomp
        end

        # String: "1.1" or "2", nil when there was no response.
        def http_version = @http_version ||= first_header_line&.[](%r{HTTP/(\S+)}, 1)

        # Whether the request went well and the status is 2xx.
        def success? = (mock || return_code == :ok) && good_status?

        # As in Typhoeus: false for every real response; for a stub, whether its status is not 2xx. But on_failure is
        # called for real ones all the same; use `!success?` instead.
        def failure? = (mock || return_code == :internal_server_error) && !good_status?

        # Whether the request went well and the status is not 304.
        def modified? = (mock || return_code == :ok) && response_code != 304

        # Whether a time limit ended it: the total or one of a phase.
        def timed_out? = return_code == :operation_timedout

        private

        def good_status? = response_code >= 200 && response_code < 300

        # The first line of the last head.
        def first_header_line
          @first_header_line ||= response_headers.to_s.split("\r\n\r\n").last.to_s.split("\r\n").first
        end
      end
    end
  end
end
