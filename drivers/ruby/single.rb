# Requests at a rate, for drivers whose client sends many requests at once and has no call that waits until a time.
require_relative "threads"

module Kit
  # At a rate, a program's requests come independently of each other, as those of a web server's threads do. So the
  # round is sent by threads on the same client: a thread waits until a request is due, and sends it alone.
  #
  # A driver prepends this, and says how it sends one request (`single`: a status and a body, or an exception).
  module SingleAtARate
    # The threads; they start with the first round at a rate.
    class Senders < Threads
      def initialize(job, &single)
        @single = single
        super(job)
      end

      private

      def open = nil
      def perform(_session, url) = @single.call(url)
    end

    def self.prepended(driver) = driver.define_singleton_method(:paces) { ["rate"] }

    def go(round)
      return super unless round.paced?

      (@senders ||= Senders.new(@job) { |url| single(url) }).go(round)
    end

    def close
      @senders&.close
      super
    end
  end
end
