# One request of Net::HTTP and its response, by a client of Hecaton.

class Hecaton::NetHTTP
  # Replaces Net::HTTP#transport_request.
  module Exchange
    module_function

    # A Net::HTTPResponse; yields it before its body is read, if there is a block. output is for Debug, nil for none.
    def run(http, client, request, authority, output, &block)
      begun = false
      outgoing = Outgoing.new(http, request, authority)
      Debug.sent(output, outgoing, authority) if output
      response = received(http, client, request, outgoing, block || http.hecaton_ignore_eof) do |head|
        begun = true
        Debug.received(output, head) if output
        block&.call(head)
      end
      Debug.body(output, response.body) if output
      response
    rescue Hecaton::Error => error
      raise if begun # Errors that the program's own block raises are its own.

      Debug.failed(output, error) if output
      Failures.raise_for(error, http)
    ensure
      outgoing&.finish
    end

    # A response, read by pieces or whole. Yields it when its head is there.
    private_class_method def received(http, client, request, outgoing, in_pieces, &head)
      options = { headers: outgoing.headers, body: outgoing.body }
      seen_once(http) do
        next Incoming.whole(http, request,
          client.request(outgoing.verb, outgoing.url, options)).tap(&head) unless in_pieces

        client.request(outgoing.verb, outgoing.url, options) do |stream|
          Incoming.streamed(http, request, stream, &head)
        end
      end
    end

    # Yields. The request of a replaced Net::HTTP bypasses WebMock's adapter for Hecaton. If WebMock's adapter for
    # Net::HTTP is on, it has already seen the request. If that is off (`except: [:net_http]`), the request must not
    # reach WebMock in another way.
    private_class_method def seen_once(http, &block)
      return yield if http.is_a?(Hecaton::NetHTTP) || !defined?(::WebMock::HttpLibAdapters::NetHttpAdapter)

      Hecaton::Interception.bypass(:webmock, &block)
    end
  end
end
