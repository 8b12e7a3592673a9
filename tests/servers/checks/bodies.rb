# Codings and cut bodies: a body is decoded whole, or its request fails.
module Servers
  check "codings", "each coding of the server is decoded to the original body", needs: :codings,
    like_curl: ->(server) {
      server.codings.all? { |_, path| server.endpoint.curl(path, "--compressed").ok? }
    } do |server|
    client = server.endpoint.client
    server.codings.each do |coding, path|
      # The first request names the coding, because the server might choose another. The client does not decode such a
      # response, so a second request names none.
      raw = client.get(server.endpoint.url(path), headers: { "Accept-Encoding" => coding })
      same([200, coding], [raw.status, raw.headers["content-encoding"]], "status and coding of #{path}")
      decoded = client.get(server.endpoint.url(path))
      same(200, decoded.status, "status of #{path}")
      must(decoded.headers["content-encoding"], "#{path} came without a coding")
      curl = server.endpoint.curl(path, "--compressed")
      must(curl.ok?, "curl has no response for #{path} to compare with: #{curl.error}")
      same([curl.body.bytesize, Zlib.crc32(curl.body)], [decoded.body.bytesize, Zlib.crc32(decoded.body)],
        "size and sum of #{path}")
      must(raw.body.bytesize < decoded.body.bytesize, "#{path} was not made smaller by #{coding}")
    end
    server.codings.keys.join(" ")
  end

  CUTS = %w[truncate truncate-chunked].freeze

  class Context
    # Checks that a body that the back end cuts is an error or the proxy's own 5xx, and never a success.
    def cut_is_reported(endpoint)
      CUTS.flat_map do |cut|
        requests = [-> { endpoint.client.get(endpoint.url("/fault/#{cut}")) },
                    -> { read_in_pieces(endpoint, "/fault/#{cut}") }, -> { in_batch(endpoint, "/fault/#{cut}") }]
        requests.map do |request|
          got = begin
            request.call
          rescue Hecaton::BodyError, Hecaton::ProtocolError => error
            error
          end
          next if got.is_a?(Hecaton::Error) || got.status >= 500

          raise Failed, "#{cut}: #{got.status} with #{got.body.bytesize} bytes and no error"
        end
      end
      nil
    end

    def in_batch(endpoint, path)
      outcome = nil
      endpoint.client.batch { |batch| batch.get(endpoint.url(path)).on_complete { |ended| outcome = ended } }
      outcome.error ? raise(outcome.error) : outcome.response
    end

    Read = Struct.new(:status, :body)

    def read_in_pieces(endpoint, path)
      body = +""
      status = endpoint.client.get(endpoint.url(path)) { |response|
        response.each_chunk { |chunk| body << chunk }
        response.status
      }
      Read.new(status, body)
    end
  end

  BY_VERSION.each do |endpoint, suffix|
    check "cut#{suffix}", "a body that the back end cuts short is an error#{Servers.over(suffix)}: " \
      "whole, in pieces and in a batch", needs: [endpoint, :ledger],
      like_curl: ->(server) { CUTS.all? { |cut| !server.endpoint(endpoint).curl("/fault/#{cut}").ok? } } do |server|
      cut_is_reported(server.endpoint(endpoint))
    end
  end
end
