# The queue for a batch's requests while interceptors are active.
module Hecaton
  module Interception
    # Has the methods of Native::Batch, and returns values in their form. Requests wait here until the interceptors have
    # seen them, one each time the batch waits. Requests that pass are queued in the real batch, which runs when all
    # have been seen.
    class Batch
      # One request: where it goes in the queue, its Course, how much of it is handed over in parts, and what came of
      # its body.
      Call = Struct.new(:request, :front, :course, :in_parts, :pieces, :body, :redirected)
      private_constant :Call

      def initialize(engine, native)
        @engine = engine
        @native = native
        @thread = Thread.current
        @waiting = {}.compare_by_identity
        @passed = {}.compare_by_identity # those in the hands of the network
        @passing = [] # those that are to be
        @refused = [] # as wait hands them over
      end

      # As Native::Batch#push_get.
      def push_get(request, url) = push(request, "GET", url, nil, nil, nil, nil)

      # As Native::Batch#push.
      def push(request, method, url, fields, body, timeout, options)
        own
        front = options && options[:front]
        course = @engine.course([method, url, fields, body, timeout, options&.except(:front)]) do |error|
          @refused.push(request, nil, *error)
        end
        return request unless course

        course.predicate = request.predicate if request.respond_to?(:predicate)
        call = Call.new(request, front, course)
        front ? @waiting = {}.compare_by_identity.update(request => call).update(@waiting) : @waiting[request] = call
        request
      end

      # As Native::Batch#in_parts.
      def in_parts(request, pieces)
        call = @waiting[request] || @passing.find { |each| each.request.equal?(request) }
        return true if !call && @refused.any? { |each| each.equal?(request) }
        return passed_in_parts(request, pieces) unless call

        call.in_parts = true
        call.pieces ||= pieces
        true
      end

      # As Native::Batch#wait.
      def wait(ended, wanting, parts)
        return !ended.concat(@refused.slice!(0..)).empty? unless @refused.empty?

        # Each is taken out when it is somewhere else, for an interrupt or an exception may come at any time.
        until @waiting.empty?
          request, call = @waiting.first
          answered = call.course.run
          answered ? hand_over(call, ended, parts) : @passing << call
          @waiting.delete(request)
          return true if answered
        end
        pass_on
        wait_for_network(ended, wanting, parts)
      end

      # As Native::Batch#clear.
      def clear(ended)
        ended.concat(@refused.slice!(0..))
        queued, started = @native.clear(ended)
        queued += @passing.map(&:request) + @waiting.keys
        @passing.clear
        @passed.clear
        @waiting.clear
        [queued, started]
      end

      # As Native::Batch#next_question.
      def next_question = @native.next_question

      # As Native::Batch#answer.
      def answer(given) = @native.answer(given)

      # As Native::Batch#finish.
      def finish = @native.finish

      # As Native::Batch#size.
      def size = @native.size + @waiting.size + @passing.size + @refused.size / 4

      # As Native::Batch#concurrency.
      def concurrency = @native.concurrency

      # As Native::Batch#concurrency=.
      def concurrency=(most)
        @native.concurrency = most
      end

      private

      def hand_over(call, ended, parts)
        course, request = call.course, call.request
        status, record, rest = course.values
        if call.in_parts && course.pieces
          parts.push(request, *course.head)
          if call.pieces
            course.pieces.each { |piece| parts.push(request, nil, piece) unless piece.is_a?(Error) }
            rest = "".b if status
          end
        end
        ended.push(request, status, record, rest)
      end

      # As the real one refuses other threads.
      def own
        return if Thread.current.equal?(@thread)

        raise ThreadError, "this batch belongs to another thread: use it in its block and its callbacks"
      end

      # In the order in which the interceptors saw them. Those for the front go there the last one first.
      def pass_on
        front, back = @passing.partition(&:front)
        @passing.replace(front.reverse + back)
        until @passing.empty?
          pass(@passing.first)
          @passing.shift
        end
      end

      def pass(call)
        *arguments, options = call.course.arguments
        options = (options || {}).merge(front: true) if call.front
        @passed[call.request] = call
        @native.push(call.request, *arguments, options)
        @native.in_parts(call.request, call.pieces ? true : false) if call.in_parts
      end

      def passed_in_parts(request, pieces)
        call = @passed[request]
        done = @native.in_parts(request, pieces)
        call.in_parts, call.pieces = true, call.pieces || pieces if call && done
        done
      end

      def wait_for_network(ended, wanting, parts)
        any = @native.wait(answered = [], wanting, came = [])
        came.each_slice(3) { |part| parts.push(*part) if take_part(@passed[part.first], *part.drop(1)) }
        until answered.empty?
          request, *values = answered.first(4)
          take(@passed[request], values, ended)
          answered.shift(4)
        end
        any
      ensure
        ended.concat(answered) if answered # What an exception has left.
      end

      # Keeps the pieces of a body for observers, who receive it as a whole. Whether the part is for the program: not
      # if it is one of a redirect that is followed.
      def take_part(call, status, content)
        call.redirected = call.course.leads_elsewhere?(status, content, nil) if status
        (call.body ||= "".b) << content if !status && (call.redirected || call.course.observes?)
        !call.redirected
      end

      # Hands an outcome over, or has the request sent elsewhere.
      def take(call, values, ended)
        if call.course.goes_on?(values, call.body)
          @waiting[call.request] = call
          call.body = call.redirected = nil
        else
          ended.push(call.request, *call.course.values)
        end
        @passed.delete(call.request)
      end
    end
  end
end
