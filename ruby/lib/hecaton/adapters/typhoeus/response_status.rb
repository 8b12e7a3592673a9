# The status of a response, and whether the request succeeded.

class Hecaton::Typhoeus::Response
  # Included by Response.
  module Status
    # String such as "OK", nil when there was no response. A real response over HTTP/1.1 has the standard reason
    # phrase of its status, not the text that the server sent.
    def status_message
      return @status_message if defined?(@status_message) && @status_message
      return options[:status_message] unless options[:status_message].nil?

      @status_message = first_header_line&.[](/\d{3} (.*)$/, 1)&.chomp
    end

    # String: "1.1", "2" or "3", nil when there was no response.
    def http_version = @http_version ||= first_header_line&.[](%r{HTTP/(\S+)}, 1)

    # Whether the request succeeded and the status is 2xx.
    def success? = (mock || return_code == :ok) && good_status?

    # As in Typhoeus: false for every real response, even if on_failure is called for it; for a stub, whether its
    # status is not 2xx. Use `!success?` instead.
    def failure? = (mock || return_code == :internal_server_error) && !good_status?

    # Whether the request succeeded and the status is not 304.
    def modified? = (mock || return_code == :ok) && response_code != 304

    # Whether a time limit ended the request: its total, or the limit of a phase.
    def timed_out? = return_code == :operation_timedout

    private

    def good_status? = response_code >= 200 && response_code < 300

    # The first line of the last head.
    def first_header_line
      @first_header_line ||= response_headers.to_s.split("\r\n\r\n").last.to_s.split("\r\n").first
    end
  end
end
