# Lets fibers wait for the network without holding up the others of their thread.
module Hecaton
  # The engine's waits release the GVL, so other threads run meanwhile. But a Fiber.scheduler switches between fibers of
  # one thread, and only at waits that Ruby knows of.
  #
  # So each fiber waits in a queue of its own. One thread drives all these requests, and wakes the fibers whose
  # outcome has arrived. It begins with the first and ends when nobody waits any more.
  module Fibers # :nodoc: all
    @queues = {}

    # Returns when what this fiber waits for has ended. If an exception ends the wait before,
    # the engine cancels the request, so that nothing continues without the fiber.
    def self.wait(wait)
      queue = @queues[wait.tag] = Queue.new
      until wait.ended?
        drive(wait)
        queue.pop # One of the waits that a scheduler knows (Fiber::Scheduler#block).
      end
    ensure
      @queues.delete(wait.tag)
    end

    # Sees to it that somebody drives.
    private_class_method def self.drive(wait)
      # Between the claim and the thread no interrupt may come, for then nobody would ever drive.
      Thread.handle_interrupt(Object => :never) do
        driver = wait.driver or return

        begin
          Thread.new { run(driver) }
        rescue ThreadError
          driver.leave
          raise
        end
      end
    end

    # Drives until nothing is left. If the driving thread is killed, another thread takes over.
    private_class_method def self.run(driver)
      Thread.current.name = "hecaton"
      Thread.handle_interrupt(Object => :immediate) do
        while (tags = driver.drive)
          tags.each { |tag| wake(@queues[tag]) }
        end
      end
      ended = true
    ensure
      driver.leave
      @queues.values.each { |queue| wake(queue) } unless ended
    end

    # The scheduler may have ended without its fibers; the others must not suffer from it.
    private_class_method def self.wake(queue)
      queue&.push(true)
    rescue StandardError
      nil
    end
  end
end
