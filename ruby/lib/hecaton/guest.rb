# A further client of a batch.
require_relative "queueing"

module Hecaton
  # Made by Client#join: queues the requests that name this client.
  class Guest # :nodoc: all
    include Queueing

    # batch is the Batch, and target its engine's. The others are the client's.
    def initialize(batch, native, target, request_builder, response_builder, features)
      @batch = batch
      queue_into(native, target, request_builder, response_builder, features, batch.deferral, batch.interceptors)
    end

    # How often the batch was aborted.
    def aborts = @batch.aborts

    # Without settings, which may hold secrets.
    def inspect = "#<Hecaton::Guest>"

    public :enqueue

    private

    def expect_hook_calls = @batch.expect_hook_calls
  end
end
