# Blocks that are called as requests go on and end.
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
          def on_complete(&block)
            list = @on_complete ||= []
            list << block if block
            list
          end

          # The same, if the response is a success.
          def on_success(&block)
            list = @on_success ||= []
            list << block if block
            list
          end

          # The same, if it is none.
          def on_failure(&block)
            list = @on_failure ||= []
            list << block if block
            list
          end

          # Called with a Response without body when the head of the response is there.
          def on_headers(&block)
            list = @on_headers ||= []
            list << block if block
            list
          end

          # Of a request: called as its body comes in with the bytes to come in all (0 when that is not known), bytes that came,
          # 0, 0, and the Response if there is on_body; and at the end, as those of Typhoeus, with the Response.
          def on_progress(&block)
            list = @on_progress ||= []
            list << block if block
            list
          end

          # For whoever calls them: the list if there is anything in it, else an empty one. name is that of the variable.
          def callbacks(name) = instance_variable_get(name) || NONE
        end

        # Calls those of on_headers, and returns what they do.
        def execute_headers_callbacks(response)
          (Typhoeus.callbacks(:@on_headers) + callbacks(:@on_headers)).map { |callback| callback.call(response) }
        end

        # Calls those of the end: on_complete, on_progress, then on_success or on_failure; each time first those of
        # Typhoeus, then its own. What the last one returns is the response's handled_response.
        def execute_callbacks
          verdict = @response && (@response.success? ? :@on_success : :@on_failure)
          lists = [Typhoeus.callbacks(:@on_complete), Typhoeus.callbacks(:@on_progress), @on_complete, @on_progress]
          lists.push(Typhoeus.callbacks(verdict), instance_variable_get(verdict)) if verdict
          lists.each do |callbacks|
            next if callbacks.nil? || callbacks.empty?

            callbacks.dup.each { |callback| response.handled_response = callback.call(response) }
          end
        end
      end
    end
  end
end
