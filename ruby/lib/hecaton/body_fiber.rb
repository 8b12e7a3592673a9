# The pieces that a request's body yields by each, taken one at a time.
module Hecaton
  # For BodySource, when the thread has more to do than to send this body: in a batch, and while a response is read
  # piece by piece. So each runs in a Fiber of its own, which a piece suspends.
  #
  # The Fiber is a blocking one: a Fiber.scheduler would switch away from it, and nobody would switch back.
  class BodyFiber # :nodoc: all
    # Raised in an each whose request has ended, so that its ensure clauses run. No StandardError, for a rescue of the
    # program's own must not swallow it.
    class Ended < Exception # rubocop:disable Lint/InheritException
      def initialize = super("the request has ended before its body did")
    end

    # What each yields to a block: a piece, an Array of several values, or nil.
    def self.one(values) = values.size > 1 ? values : values.first

    def initialize(body)
      @state = :new
      @fiber = Fiber.new(blocking: true) do
        own = Fiber.current
        body.each { |*values| hand_over(own, BodyFiber.one(values)) }
        @state = :ended
        nil
      end
    end

    # The next piece, nil at the end.
    def call
      return if @state == :ended

      @state = :runs
      piece = @fiber.resume
      return piece unless @state == :runs

      raise FiberError, "the request's body has suspended its each: in a batch, and while a response is read piece " \
                        "by piece, each must not call Fiber.yield, nor wait as Async does"
    end

    # Ends an each that waits for its next piece to be needed. It cannot be done in another thread.
    def stop
      return unless @state == :waits

      @state = :ended
      @fiber.raise(Ended)
    rescue Ended, FiberError
      nil
    end

    private

    # Elsewhere, Fiber.yield would suspend another Fiber, and the piece would be lost.
    def hand_over(own, piece)
      unless Fiber.current.equal?(own)
        raise FiberError, "the request's body yields a piece in another Fiber or Thread than its each runs in: in a " \
                          "batch, and while a response is read piece by piece, that piece would be lost"
      end
      raise Ended if @state == :ended

      @state = :waits
      Fiber.yield(piece)
    end
  end
end
