# Hands the pieces of a body to Faraday's on_data.
class Faraday::Adapter::Hecaton
  # For one response. Faraday 2 gives on_data a third argument, the env with status and headers.
  class Delivery
    def initialize(env)
      @env = env
      @on_data = env.request.on_data
      @size = 0
    end

    # Hands a piece over, with the number of bytes so far.
    def piece(chunk)
      @size += chunk.bytesize
      hand_over(chunk)
    end

    # An empty body is handed over as one empty piece.
    def finish = (hand_over(+"") if @size.zero?)

    private

    def hand_over(chunk)
      @env.respond_to?(:stream_response) ? @on_data.call(chunk, @size, @env) : @on_data.call(chunk, @size)
    end
  end
end
