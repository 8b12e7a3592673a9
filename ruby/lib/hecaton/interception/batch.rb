# The queue for a batch's requests while there are interceptors.
module Hecaton
  module Interception
    # Has the methods of Native::Batch, and keeps the Run of each request.
    class Batch
      # The failure of an attempt whose interceptor was left by an exception.
      GIVEN_UP = %w[CancelledError queue].push(false, false).freeze
      private_constant :GIVEN_UP

      def initialize(engine, native)
        @engine = engine
        @native = native
        @runs = {}.compare_by_identity
      end

      # As Native::Batch#push_get.
      def push_get(request, url) = push(request, "GET", url, nil, nil, nil, nil)

      # As Native::Batch#push.
      def push(request, http_method, url, fields, body, timeout, options)
        push_into(@native, request, http_method, url, fields, body, timeout, options)
      end

      # As Native::Client#join, for the Native::Client of another.
      def guest(client) = Guest.new(self, client.join(@native))

      # For Guest: queues a request through native, which is the engine's batch or the part of a further client in it.
      def push_into(native, request, http_method, url, fields, body, timeout, options)
        run = @engine.run(body)
        native.push(request, http_method, url, fields, body, timeout, (options || {}).merge(interception: run))
        @runs[request] = run
        request
      end

      # Does what Native::Batch#next_hook_call does, except that interceptors are called here. After calling `respond`
      # of the interceptors it returns nil, so that the batch first hands over what has ended, and only then makes the
      # next call.
      def next_hook_call
        while (call = @native.next_hook_call)
          request, about, *facts = call
          run = @runs[request]
          case about
          when :interception
            resolve_with(GIVEN_UP) { run.respond(*facts) }
            return
          when :observation then resolve_with(nil) { run.observe(*facts) }
          when :outcome then return [request, about, *run.values(*facts)]
          else return call
          end
        end
      end

      # As Native::Batch#wait.
      def wait(ended, wanting, parts)
        any = @native.wait(came = [], wanting, pieces = [])
        until pieces.empty?
          request, status, content = pieces
          parts.push(request, status, @runs[request].part(status, content))
          pieces.shift(3)
        end
        until came.empty?
          request, *values = came.first(4)
          ended.push(request, *@runs[request].ended(*values))
          came.shift(4)
          @runs.delete(request)
        end
        any
      ensure
        hand_over_rest(ended, parts, came, pieces) unless came.nil? || (came.empty? && pieces.empty?)
      end

      # As Native::Batch#clear.
      def clear(ended)
        @runs.clear
        @native.clear(ended)
      end

      # As Native::Batch#held.
      def held = @native.held

      # As Native::Batch#adopt.
      def adopt = @native.adopt

      # As Native::Batch#enough.
      def enough(request) = @native.enough(request)

      # As Native::Batch#in_parts.
      def in_parts(request, pieces) = @native.in_parts(request, pieces)

      # As Native::Batch#resolve.
      def resolve(given) = @native.resolve(given)

      # As Native::Batch#finish.
      def finish = @native.finish

      # As Native::Batch#size.
      def size = @native.size

      # As Native::Batch#concurrency.
      def concurrency = @native.concurrency

      # As Native::Batch#concurrency=.
      def concurrency=(most)
        @native.concurrency = most
      end

      private

      # After an exception: what was not handed over. The first may have been, just before it.
      def hand_over_rest(ended, parts, came, pieces)
        pieces.shift(3) if !pieces.empty? && parts[-3].equal?(pieces.first)
        came.shift(4) if !came.empty? && ended[-4].equal?(came.first)
        parts.concat(pieces)
        ended.concat(came)
      end

      # Resolves a call with what the block returns, or with the other value if an exception leaves it.
      def resolve_with(other)
        given = other
        given = yield
      ensure
        @native.resolve(given)
      end
    end

    # The part of a further client in such a queue.
    class Guest
      def initialize(batch, native)
        @batch = batch
        @native = native
      end

      # As Native::Guest#push_get.
      def push_get(request, url) = push(request, "GET", url, nil, nil, nil, nil)

      # As Native::Guest#push.
      def push(request, http_method, url, fields, body, timeout, options)
        @batch.push_into(@native, request, http_method, url, fields, body, timeout, options)
      end
    end
  end
end
