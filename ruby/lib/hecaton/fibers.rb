# Lets a fiber wait for the network without holding up the others of its thread.
module Hecaton
  # The engine's waits release the GVL, so other threads run meanwhile; but a Fiber.scheduler switches
  # between fibers of one thread, and only at waits that Ruby knows of.
  module Fibers
    # Runs the block, which waits and touches nothing that belongs to its thread, and returns its value.
    #
    # In a fiber of a scheduler it runs on a thread of its own, and the fiber waits for that: Thread#join
    # is one of the waits that a scheduler knows (Fiber::Scheduler#block). An exception that ends the
    # fiber's wait, such as a scheduler's timeout, ends the thread and with it the request; nothing goes
    # on behind the fiber's back.
    def self.wait(&block)
      return yield unless Fiber.current_scheduler

      begin
        result = nil
        thread = Thread.new { result = attempt(&block) }
        thread.join
        value, error = result
        raise error if error

        value
      ensure
        thread&.kill&.join # What it waited with is free again when the fiber goes on.
      end
    end

    # A block's value and nil, or nil and its exception.
    def self.attempt
      [yield, nil]
    rescue Exception => error # Whatever it is, it belongs to the fiber.
      [nil, error]
    end
    private_class_method :attempt
  end
end
