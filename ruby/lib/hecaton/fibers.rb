# Lets a fiber wait for the network without holding up the others of its thread.
module Hecaton
  # The engine's waits release the GVL, so other threads run meanwhile; but a Fiber.scheduler switches
  # between fibers of one thread, and only at waits that Ruby knows of.
  module Fibers
    # Runs the block, which waits and touches nothing that belongs to its thread, and returns its value.
    #
    # In a fiber of a scheduler it runs on a thread of its own, and the fiber waits for that: Thread#value
    # is one of the waits that a scheduler knows (Fiber::Scheduler#block). An exception that ends the
    # fiber's wait, such as a scheduler's timeout, ends the thread and with it the request.
    def self.wait
      return yield unless Fiber.current_scheduler

      begin
        thread = Thread.new do
          Thread.current.report_on_exception = false # It is raised in the fiber.
          yield
        end
        thread.value
      ensure
        thread&.kill
      end
    end
  end
end
