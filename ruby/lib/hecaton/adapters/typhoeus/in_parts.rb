# A request whose callbacks receive its response while it comes in.

module Hecaton::Typhoeus
  # Calls on_headers, on_body and on_progress of a request, and makes its Response.
  class InParts
    def initialize(request, plan, batch, pending)
      @request = request
      @plan = plan
      @batch = batch
      @pending = pending
      @received = 0
      @body = "".b
      pending.on_headers { |response| guard(:head) { head(response) } }
      pending.on_body { |bytes| guard(bytes) { piece(bytes) } }
    end

    # The Response for the outcome. It has no body if on_body took that.
    def response(outcome)
      return Response.of(outcome, @code, @body) if outcome.is_a?(Hecaton::Response)

      Response.of(outcome, @code, @body, @head&.code)
    end

    private

    def head(response)
      @head = Response.of(response)
      @length = [*@head.headers["Content-Length"]].last.to_i # A server may send equal ones.
      @request.execute_headers_callbacks(@head)
      @plan.unwanted(response)
    end

    def piece(bytes)
      @received += bytes.bytesize
      @request.listening_to_progress.each do |callback|
        callback.call(@length, @received, 0, 0, @request.streaming? ? @head : nil)
      end
      value = :unyielded # Ethon's word for a piece that no block took.
      @request.on_body.each { |callback| return :write_error if (value = callback.call(bytes, @head)) == :abort }
      @body << bytes if value == :unyielded
      nil
    end

    # Ends the request if the block returns a return code, or if an exception leaves it: a callback that has missed
    # a piece gets no other. After an interrupt, the batch hands the same part over again.
    def guard(part)
      return if @code || part.equal?(@part)

      code = :aborted_by_callback
      @part = part
      code = yield
    ensure
      if code
        @code = code
        @batch.enough(@pending)
      end
    end
  end
end
