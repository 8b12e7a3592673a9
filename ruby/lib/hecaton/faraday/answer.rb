# A response of Hecaton's → the env of Faraday.
module Faraday
  class Adapter
    class Hecaton
      # Keeps the response itself in env[:hecaton_response]: its attempts, timings and redirects.
      module Answer
        # What the engine decodes. Then Content-Encoding and Content-Length say nothing true of the body, and go.
        CODINGS = /\A[\s,]*(?:(?:gzip|x-gzip|deflate|br|zstd|identity)[\s,]*)+\z/i
        # The names that RFC 9110 and others give to statuses.
        REASONS = {
          200 => "OK", 201 => "Created", 202 => "Accepted", 203 => "Non-Authoritative Information", 204 => "No Content",
          205 => "Reset Content", 206 => "Partial Content", 207 => "Multi-Status", 300 => "Multiple Choices",
          301 => "Moved Permanently", 302 => "Found", 303 => "See Other", 304 => "Not Modified", 307 => "Temporary Redirect",
          308 => "Permanent Redirect", 400 => "Bad Request", 401 => "Unauthorized", 402 => "Payment Required",
          403 => "Forbidden", 404 => "Not Found", 405 => "Method Not Allowed", 406 => "Not Acceptable",
          407 => "Proxy Authentication Required", 408 => "Request Timeout", 409 => "Conflict", 410 => "Gone",
          411 => "Length Required", 412 => "Precondition Failed", 413 => "Payload Too Large", 414 => "URI Too Long",
          415 => "Unsupported Media Type", 416 => "Range Not Satisfiable", 417 => "Expectation Failed",
          421 => "Misdirected Request", 422 => "Unprocessable Entity", 423 => "Locked", 424 => "Failed Dependency",
          425 => "Too Early", 426 => "Upgrade Required", 428 => "Precondition Required", 429 => "Too Many Requests",
          431 => "Request Header Fields Too Large", 451 => "Unavailable For Legal Reasons", 500 => "Internal Server Error",
          501 => "Not Implemented", 502 => "Bad Gateway", 503 => "Service Unavailable", 504 => "Gateway Timeout",
          505 => "HTTP Version Not Supported", 507 => "Insufficient Storage", 511 => "Network Authentication Required"
        }.freeze
        private_constant :CODINGS, :REASONS

        class << self
          # Status, reason and headers.
          def head(env, response, settings)
            headers = headers(response)
            undo_coding(env, headers) if settings.decode? && headers.key?("content-encoding")
            env.status = response.status
            env.reason_phrase = reason(response)
            env.response_headers = headers
            env.url = URI(response.url) if settings.redirects? && !response.redirects.empty?
          end

          # The rest.
          def body(env, response, body)
            env.response_body = body
            env.custom_members[:hecaton_response] = response # As env[:hecaton_response] = does, but sooner.
          end

          # What a failed request of in_parallel leaves: status 0, as other adapters have it.
          def failure(env, error)
            env.status = 0
            env.reason_phrase = nil
            env.response_headers = Utils::Headers.new
            env.response_body = +""
            env[:hecaton_error] = error
          end

          private

          # Repeated fields are rare, so they are looked for when one is missing.
          def headers(response)
            headers = Utils::Headers.new
            fields = 0
            response.each_field do |name, value|
              headers[name] = value
              fields += 1
            end
            headers.size == fields ? headers : joined(response)
          end

          # Repeated fields in one, as Net::HTTP hands them on.
          def joined(response)
            response.to_enum(:each_field).with_object(Utils::Headers.new) do |(name, value), headers|
              headers[name] = headers.key?(name) ? "#{headers[name]}, #{value}" : value
            end
          end

          def reason(response)
            return response.reason if response.respond_to?(:reason)

            REASONS[response.status] || ""
          end

          def undo_coding(env, headers)
            return if env.method == :head || !CODINGS.match?(headers["content-encoding"])

            asked = env.request_headers
            return if asked["Accept-Encoding"] || asked["Range"]

            headers.delete("content-encoding")
            headers.delete("content-length")
          end
        end
      end
    end
  end
end
