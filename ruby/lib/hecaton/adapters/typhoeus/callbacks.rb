# Blocks that are called while requests run and when they end.

class Hecaton::Typhoeus::Request
  # Included by Request.
  module Callbacks
    # Lists of blocks, of a request and (for all requests) of Typhoeus. Each method adds the block, if there is one,
    # and returns the Array, which may be changed.
    module Types
      NONE = [].freeze
      private_constant :NONE

      # Called with the Response of a request that has ended, however it did.
      def on_complete(&block) = block ? (@on_complete ||= []) << block : @on_complete ||= []

      # Called with the Response if it is a success.
      def on_success(&block) = listed(@on_success ||= [], block)

      # Called with the Response if it is a failure.
      def on_failure(&block) = listed(@on_failure ||= [], block)

      # Called with a Response without body when the head of the response is there.
      def on_headers(&block) = listed(@on_headers ||= [], block)

      # Called while the body comes in, and at the end, as Typhoeus' own callbacks are, with the
      # Response. Its arguments on the way are the body's expected bytes (0 if unknown), its bytes so far, 0, 0. The
      # Response follows if there is on_body.
      def on_progress(&block) = listed(@on_progress ||= [], block)

      # Each list if it has any, else an empty one.
      def listening_to_headers = @on_headers || NONE # :nodoc:
      # Array of the blocks that on_progress was given.
      def listening_to_progress = @on_progress || NONE

      # Array of the blocks that are called at the end of all requests, however they end.
      def called_at_end = [*@on_complete, *@on_progress] # :nodoc:

      # Adds on_success or on_failure.
      def list_verdict(calls, response) # :nodoc:
        return unless @on_success || @on_failure

        list = response.success? ? @on_success : @on_failure
        calls.concat(list) if list
      end

      private

      # The list, with the block if there is one.
      def listed(list, block) = block ? list << block : list
    end

    # Not empty if there ever were callbacks for all requests, whose Arrays a program may keep. See Layers::USED.
    FOR_ALL = []

    # Calls the callbacks of on_headers, and returns an Array of their values.
    def execute_headers_callbacks(response)
      (Hecaton::Typhoeus.listening_to_headers + listening_to_headers).map { |callback| callback.call(response) }
    end

    # Calls the callbacks of the end: on_complete and on_progress, then on_success or on_failure. Typhoeus' global
    # callbacks go before the request's own. The value of the last one is the response's handled_response.
    def execute_callbacks
      list_calls
      call_listed
    end

    # Calls those of the list that were not begun. Ruby looks for interrupts when a method returns: one
    # comes before a callback is counted, or in it.
    def call_listed(calls = @listed_calls) # :nodoc:
      response = @response
      at = -1
      while (at += 1) < calls.size
        callback = calls[at] or next
        response.handled_response = (calls[at] = nil) || callback.call(response)
      end
    end

    private

    # The callbacks that are there, and none that they add. One that was begun is nil from then on.
    def list_calls
      list = [*@on_complete]
      list.concat(@on_progress) if @on_progress
      for_all = Hecaton::Typhoeus unless FOR_ALL.empty?
      list = for_all.called_at_end + list if for_all
      if (response = @response)
        for_all&.list_verdict(list, response)
        list_verdict(list, response) if @on_success || @on_failure
      end
      @listed_calls = list
    end
  end
end
