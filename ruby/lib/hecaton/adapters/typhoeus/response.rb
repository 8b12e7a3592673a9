# A response as Typhoeus has it: from the engine, from a cache, or made by hand.

module Hecaton::Typhoeus
  # Pure Ruby, so that it can be marshalled.
  class Response
    include Informations
    include Status

    LAZY = %i[@outcome @own_code @own_body @own_status].freeze
    private_constant :LAZY

    # The Request it belongs to.
    attr_accessor :request
    # handled_response is the value of the last callback, mock whether the response is a stub's.
    attr_writer :options, :handled_response, :mock, :cached

    # By hand, for stubs: Response.new(code: 200, body: "…", headers: {…}, return_code: :ok, …).
    def initialize(options = {})
      @options = options
      @headers = Header.new(options[:headers]) if options[:headers]
    end

    # The outcome is a Hecaton::Response, Hecaton::Error or Hecaton::Stream; body is the part
    # that was read. A return_code or status is given where it differs from the outcome's own.
    def self.of(outcome, return_code = nil, body = nil, status = nil) # :nodoc:
      allocate.load(outcome, return_code, body, status)
    end

    # Returns itself.
    def load(outcome, return_code, body, status) # :nodoc:
      @outcome = outcome
      @own_code = return_code if return_code
      @own_body = body if body
      @own_status = status if status
      self
    end

    # The same for a request whose response is the outcome as it is.
    def load_plain(outcome, request) # :nodoc:
      @outcome = outcome
      @request = request
      self
    end

    # Hash of all that is known; the methods read it.
    def options = @options ||= known_facts

    # Whether it is a stub's: true, or what the stub was made by.
    def mock = defined?(@mock) ? @mock : (@options && @options[:mock])
    alias mock? mock

    # The value of the last callback, else the response itself.
    def handled_response = @handled_response || self

    # Whether a cache had it.
    def cached? = !!@cached

    # Lets go of what only this library could read.
    def settle # :nodoc:
      options
      @outcome = @own_code = @own_body = @own_status = nil
      self
    end

    # Plain values, without callbacks.
    def marshal_dump # :nodoc:
      settle
      (instance_variables - LAZY).map { |name| [name, instance_variable_get(name)] }
    end

    def marshal_load(attributes) = attributes.each { |name, value| instance_variable_set(name, value) } # :nodoc:

    # See Request. Ruby 3.1 holds the first three variables in the object itself.
    if RUBY_VERSION < "3.2"
      allocate.instance_exec do
        @handled_response = @request = @outcome = nil
        @own_status = @own_code = @own_body = @options = nil
      end
    end

    private

    def known_facts
      notes = @request&.verbose_notes || DebugInfo.new
      facts = Facts.of(@outcome, body_bytes, return_code, @request&.sent_bytes, notes)
      facts[:response_code] = @own_status if @own_status
      # The engine drops the fragment, and libcurl keeps it.
      fragment = @request.url[/#.*/m] if @request && @outcome.redirects.empty? && !@outcome.url.include?("#")
      facts[:effective_url] << fragment.to_s.b
      facts
    end

    # Subscribers to the engine's events may have the String too.
    def body_bytes
      return @own_body if @own_body
      return @own_body = "".b unless @outcome.is_a?(Hecaton::Response)

      body = @outcome.body
      # Noted, because a program may give the String another encoding, and reads it again.
      @own_body = body.encoding == Encoding::BINARY ? body : body.dup.force_encoding(Encoding::BINARY)
    end
  end
end
