# One request of Net::HTTP and its response, by a client of Hecaton.
module Hecaton
  class NetHTTP
    # Replaces Net::HTTP#transport_request.
    module Exchange
      module_function

      # A Net::HTTPResponse; yields it before its body is read, if there is a block. output is for Debug.
      def run(http, client, request, authority, output, &block)
        outgoing = Outgoing.new(http, request, authority)
        Debug.sent(output, outgoing, authority)
        response = block || http.hecaton_ignore_eof ? streamed(http, client, request, outgoing, output, &block) : whole(http, client, request, outgoing, output)
        Debug.body(output, response.body)
        response
      ensure
        outgoing&.finish
      end

      private_class_method def whole(http, client, request, outgoing, output)
        outcome = Seen.once(http) { client.request_flat(outgoing.verb, outgoing.url, outgoing.headers, outgoing.body) }
        response = Incoming.whole(http, request, outcome)
        Debug.received(output, response)
        response
      rescue Hecaton::Error => error
        Debug.failed(output, error)
        Failures.raise_for(error, http)
      end

      # Errors that the program's own block raises are its own.
      private_class_method def streamed(http, client, request, outgoing, output)
        begun = false
        Seen.once(http) do
          client.request(outgoing.verb, outgoing.url, headers: outgoing.headers.each_slice(2).to_a, body: outgoing.body) do |stream|
            begun = true
            Incoming.streamed(http, request, stream) do |response|
              Debug.received(output, response)
              yield response if block_given?
            end
          end
        end
      rescue Hecaton::Error => error
        raise if begun

        Debug.failed(output, error)
        Failures.raise_for(error, http)
      end
    end
  end
end
