# Blocks that are called while requests run and when they end.
module Hecaton
  module Typhoeus
    class Request
      # Included by Request.
      module Callbacks
        # Lists of blocks, of a request and (for all requests) of Typhoeus. Each method adds the block, if there is one,
        # and returns the Array, which may be changed.
        module Types
          NONE = [].freeze
          private_constant :NONE

          # Called with the Response of a request that has ended, however it did.
          def on_complete(&block) = listed(@on_complete ||= [], block)

          # Called with the Response if it is a success.
          def on_success(&block) = listed(@on_success ||= [], block)

          # Called with the Response if it is a failure.
          def on_failure(&block) = listed(@on_failure ||= [], block)

          # Called with a Response without body when the head of the response is there.
          def on_headers(&block) = listed(@on_headers ||= [], block)

          # For a request: called while its body comes in, and at the end, as Typhoeus' own callbacks are, with the
          # Response. Its arguments on the way are the body's expected bytes (0 if unknown), its bytes so far, 0, 0. The
          # Response follows if there is on_body.
          def on_progress(&block) = listed(@on_progress ||= [], block)

          # For the caller of the blocks: each list if it has any, else an empty one.
          def listening_to_headers = @on_headers || NONE
          # Array of the blocks that on_progress was given.
          def listening_to_progress = @on_progress || NONE

          # For requests: calls those of the end with the response, in order.
          def call_at_end(response)
            call_each(@on_complete, response) if @on_complete
            call_each(@on_progress, response) if @on_progress
          end

          # For requests: calls on_success or on_failure.
          def call_verdict(response)
            return unless @on_success || @on_failure

            list = response.success? ? @on_success : @on_failure
            call_each(list, response) if list
          end

          private

          # The list, with the block if there is one.
          def listed(list, block) = block ? list << block : list

          # Calls the callbacks that are there when it begins, and none that they add.
          def call_each(callbacks, response)
            return response.handled_response = callbacks.first.call(response) if callbacks.size == 1

            callbacks.dup.each { |callback| response.handled_response = callback.call(response) }
          end
        end

        # Calls the callbacks of on_headers, and returns an Array of their values.
        def execute_headers_callbacks(response)
          (Typhoeus.listening_to_headers + listening_to_headers).map { |callback| callback.call(response) }
        end

        # Calls the callbacks of the end: on_complete and on_progress, then on_success or on_failure. Typhoeus' global
        # callbacks go before the request's own. The value of the last one is the response's handled_response.
        def execute_callbacks
          response = self.response
          Typhoeus.call_at_end(response)
          call_at_end(response)
          return unless response

          Typhoeus.call_verdict(response)
          call_verdict(response)
        end
      end
    end
  end
end
