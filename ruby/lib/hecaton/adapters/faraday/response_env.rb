# A response of Hecaton's → the env of Faraday.
class Faraday::Adapter::Hecaton
  # Keeps the response itself in <code>env[:hecaton_response]</code>: its attempts, timings and redirects.
  module ResponseEnv
    # The content codings that the engine decodes. Then Content-Encoding and Content-Length are no longer true of
    # the body, and go.
    CODINGS = /\A[\s,]*(?:(?:gzip|x-gzip|deflate|br|zstd|identity)[\s,]*)+\z/i
    private_constant :CODINGS

    module_function

    # Status, reason and headers.
    def head(env, response, settings)
      headers = headers(response)
      undo_coding(env, headers) if settings.decode? && headers.key?("content-encoding")
      env.status = response.status
      env.reason_phrase = response.reason
      env.response_headers = headers
      env.url = URI(response.url) if settings.redirects? && !response.redirects.empty?
    end

    # The rest.
    def body(env, response, body)
      env.response_body = body
      env.custom_members[:hecaton_response] = response # As env[:hecaton_response] = does, but sooner.
    end

    # Sets the env of a failed request of in_parallel: status 0, as other adapters have it.
    def failure(env, error)
      env.status = 0
      env.reason_phrase = nil
      env.response_headers = Faraday::Utils::Headers.new
      env.response_body = +""
      env[:hecaton_error] = error
    end

    # Repeated fields are rare, so they are looked for when one is missing.
    private_class_method def headers(response)
      headers = Faraday::Utils::Headers.new
      fields = 0
      response.each_field do |name, value|
        headers[name] = value
        fields += 1
      end
      headers.size == fields ? headers : joined(response)
    end

    # Repeated fields in one, as Net::HTTP hands them on.
    private_class_method def joined(response)
      response.to_enum(:each_field).with_object(Faraday::Utils::Headers.new) do |(name, value), headers|
        headers[name] = headers.key?(name) ? ::Hecaton::Headers.join([headers[name], value]) : value
      end
    end

    private_class_method def undo_coding(env, headers)
      return if env.method == :head || !CODINGS.match?(headers["content-encoding"].scrub)

      sent = env.request_headers
      return if sent["Accept-Encoding"] || sent["Range"]

      headers.delete("content-encoding")
      headers.delete("content-length")
    end
  end
end
