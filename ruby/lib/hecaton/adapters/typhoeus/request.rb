# A request as in Typhoeus: its URL, options and callbacks.
require "digest/sha1"
require "zlib"

module Hecaton::Typhoeus
  # Run by itself, or queued in a Hydra. Options are those of Typhoeus; see docs/from-typhoeus.md.
  #
  # Programs have subclasses with methods and variables of their own. So whatever the original's class lacks has a name
  # here that they hardly use. The same holds for Hydra.
  class Request
    # Class methods of Typhoeus and of Request. Each makes a Request with these options, runs it, and returns its
    # Response.
    module Actions
      %i[get post put delete head patch options].each do |verb|
        define_method(verb) { |base_url, options = {}| Request.new(base_url, options.merge(method: verb)).run }
      end
    end

    extend Actions
    include Callbacks::Types
    include Callbacks

    # base_url is the URL without params. hydra is the last Hydra that queued the request. original_options are the
    # options as given. block_connection: whether a request without a stub raises NoStub (nil: as in Config).
    attr_accessor :base_url, :hydra, :original_options, :block_connection

    # base_url:: String or URI; without a scheme it is http.
    # options:: Hash. Options are checked when the request runs.
    def initialize(base_url, options = {})
      @base_url = base_url
      @original_options = options
      @options = (@sending_plan = @known_plan = Plan.known(options)) ? @sending_plan.lasting : copy_of_options(options)
      @without_defaults = true
      set_defaults
    end

    # Hash: the given options and the defaults. Defaults are the headers User-Agent and Expect, maxredirs, and the
    # settings of Config. The Hash may be changed until the request runs.
    def options
      add_defaults(NONE) if @without_defaults # Config had no defaults when the request was made.
      @options
    end

    # Replaces the options; these get no defaults.
    def options=(options)
      @without_defaults = @known_plan = nil
      @options = options
    end

    # String: the URL with its params, as it will be sent.
    def url = Query.join(base_url.to_s, options[:params], options[:params_encoding], options[:escape] != false)

    # Sends the request, calls its callbacks, and returns its Response, whether the request succeeded or failed.
    #
    # Raises Ethon::Errors::InvalidOption or InvalidValue for options, Errors::NoStub, and what callbacks raise.
    def run
      Layers.pass(self) do
        plan = plan_sending
        finish(Exchange.perform(plan, plan.url_of(self), (self if hands_over_parts?)))
      end
    end

    # Takes the response and calls the callbacks. Returns the response.
    def finish(response, bypass_memoization = nil)
      bypass_memoization ? @response = response : self.response = response
      response.request = self
      write_verbose if @sending_plan && !@sending_plan.plain && @sending_plan.verbose?
      execute_callbacks
      response
    end

    # Itself, queued anew.
    def without_listed_calls # :nodoc:
      @listed_calls = nil
      self
    end

    # Whether a response has come since.
    def calls_listed? = !@listed_calls.nil? # :nodoc:

    # Response, nil before the end.
    def response = @response ||= nil

    # Sets the response, and stores it in the cache and the hydra's memory if they are used.
    def response=(response)
      keep_response(response) if layered?
      @response = response
    end

    # Adds a block that is called with each piece of the body and the Response of its head, and may return :abort.
    # With such a block, the final Response has no body, but for pieces for which the last block returns :unyielded.
    # Returns the Array of these blocks.
    def on_body(&block) = listed(@on_body ||= [], block)

    # Whether the request has an on_body block.
    def streaming? = any_of?(@on_body)

    # Whether a callback is to be called before the end of the request.
    def hands_over_parts? # :nodoc:
      return true unless FOR_ALL.empty? || Hecaton::Typhoeus.listening_to_headers.empty?

      (@on_body || @on_headers || @on_progress) && (streaming? || any_of?(@on_headers) || any_of?(@on_progress))
    end

    # Whether one of Layers may have a response, or is to keep one. Options of a known plan name no cache.
    def layered? = Layers::USED[0] || @block_connection || (!@known_plan && @options[:cache]) # :nodoc:

    # Whether it raises NoStub if it is not stubbed.
    def blocked? = block_connection.nil? ? Config.block_connection : block_connection

    # The cache that is used, nil for none.
    def cacheable?
      own = @options[:cache]
      (own.nil? ? Config.cache : own) || nil
    end

    # The response in the cache, nil for none.
    def cached_response = cacheable?&.get(self)

    # Seconds, for the cache; nil for its own.
    def cache_ttl = @options[:cache_ttl]

    # Whether the hydra's memory is used: a GET, with Config.memoize.
    def memoizable? = Config.memoize && (@options[:method].nil? || @options[:method] == :get)

    # String: equal for requests with the same URL and options. It differs from the key of Typhoeus, which could not
    # read Hecaton's responses.
    def cache_key = Digest::SHA1.hexdigest("hecaton#{self.class.name}#{base_url}#{key_text(options)}")

    # Integer: equal for equal requests.
    def hash = Zlib.crc32(cache_key)

    # Equal in URL and options.
    def eql?(other) = self.class == other.class && base_url == other.base_url && options == other.options

    # String: the body as a form without escapes, for programs that compare it.
    def encoded_body = Query.text(options[:body] || "", nil, escape: false)

    def sent_bytes = (@sending_plan.body.bytesize if @sending_plan&.body.is_a?(String)) # :nodoc:
    # DebugInfo: what verbose wrote down; nil without it.
    attr_reader :verbose_notes

    # The last Plan, nil for none.
    attr_reader :sending_plan # :nodoc:
    # Whether responses were ever handed over in parts. A Pending then says whether its own was.
    attr_writer :came_in_parts # :nodoc:

    # The Plan by which it is sent now. A Plan knows the defaults itself, which the options may be without.
    def plan_sending = @known_plan || (@sending_plan = Plan.of(base_url, @options)) # :nodoc:

    # Takes the response of an outcome, by the plan, and returns the list for call_listed.
    def take_outcome(outcome, pending) # :nodoc:
      if @sending_plan.plain && !@came_in_parts && !layered?
        @response = Response.allocate.load_plain(outcome, self)
      else
        self.response = response = response_of(outcome, pending)
        response.request = self
        write_verbose if @sending_plan.verbose?
      end
      list_calls
    end

    # Ruby 3.1 reads a variable slowly if no object of the class ever had it. It makes room for a variable and for those
    # before it in this order. So the first one that a request gets is the last here.
    if RUBY_VERSION < "3.2"
      allocate.instance_exec do
        @on_progress = @on_body = @on_headers = @on_failure = @on_success = @block_connection = nil
        @response = @came_in_parts = @listed_calls = @hydra = @on_complete = nil
        @without_defaults = @options = @known_plan = @sending_plan = nil
        @base_url = @original_options = nil
      end
    end

    NONE = {}.freeze
    UNCOPIED = %i[@on_complete @on_success @on_failure @on_progress @on_headers @on_body @hydra
                  @sending_plan @known_plan @without_defaults @listed_calls @came_in_parts @verbose_notes
                  @finishing].freeze
    private_constant :NONE, :UNCOPIED

    # Leaves out callbacks, and other things that only make sense in this process. Variables of a subclass are kept.
    def marshal_dump
      options
      (instance_variables - UNCOPIED).map { |name| [name, instance_variable_get(name)] }
    end

    def marshal_load(attributes) = attributes.each { |name, value| instance_variable_set(name, value) } # :nodoc:

    # Methods that the quick way does without. See Overrides.
    OVERRIDABLE = %i[finish execute_callbacks options response=].freeze
    OWN_FINISH = instance_method(:finish)
    private_constant :OWN_FINISH

    # The way of a request that overrides some of them.
    module Openly # :nodoc: all
      # A response for `finish`, whether that was begun, and the list of callbacks as soon as there is one.
      Finishing = Struct.new(:response, :begun, :list)

      def plan_sending = @sending_plan = Plan.of(base_url, options)

      def take_outcome(outcome, pending) = @finishing = Finishing.new(response_of(outcome, pending))

      # An override is called once. If `run` was left in it, the next one does the rest that is not the override's.
      def call_listed(calls = @listed_calls)
        return super unless calls.is_a?(Finishing)
        return super(calls.list) if calls.list

        again = calls.begun
        (calls.begun = true) && (again ? OWN_FINISH.bind_call(self, calls.response) : finish(calls.response))
        calls.list ||= []
      end

      private

      def list_calls
        list = super
        @finishing.list = list if @finishing && !@finishing.list
        list
      end
    end

    extend Overrides

    private

    def singleton_method_added(name)
      super
      singleton_class.prepend(Openly) if OVERRIDABLE.include?(name)
    end

    # The response of an outcome, by the plan.
    def response_of(outcome, pending)
      @sending_plan.finish if @sending_plan.cookies
      parts = pending.parts if @came_in_parts
      parts ? parts.response(outcome) : Exchange.response(@sending_plan, outcome)
    end

    def keep_response(response)
      cache = cacheable?
      cache.set(self, response.settle) if cache && !response.cached?
      hydra.memory[self] = response if hydra && memoizable?
    end

    def any_of?(list) = !(list.nil? || list.empty?)

    # A copy, as the program may change what it gave.
    def copy_of_options(options)
      return NONE if options.empty?

      options[:headers] ? options.merge(headers: options[:headers].dup) : options.dup
    end

    # Called by `new`. Programs override it, to add defaults of their own.
    def set_defaults = (add_defaults(Config::DEFAULTS) unless Config::DEFAULTS.empty?)

    def add_defaults(defaults)
      @without_defaults = @known_plan = nil
      @options = Marshal.load(Marshal.dump(@options)) if @options.frozen?
      options = @options
      options[:headers] = { "User-Agent" => defaults[:user_agent] || USER_AGENT }.merge(options[:headers] || {})
      options[:headers]["Expect"] ||= ""
      options[:maxredirs] ||= 50
      defaults.each do |name, value|
        case name
        when :proxy then options[:proxy] = value unless options.key?(:proxy)
        when :verbose, :timeout, :connecttimeout then options[name] = value if options[name].nil?
        end
      end
    end

    def key_text(value)
      case value
      when Hash then key_text(value.sort_by { |name, _| name.to_s })
      when Array then value.map { |each| key_text(each) }.to_s
      else value.to_s
      end
    end

    # The text that verbose prints, and keeps in debug_info.
    def write_verbose
      @verbose_notes = DebugInfo.new
      plan = @sending_plan
      lines = ["#{plan.verb} #{plan.url_of(self)}", *plan.headers&.map { |name, value| "#{name}: #{value}" }]
      @verbose_notes.add(:header_out, "#{lines.join("\r\n")}\r\n\r\n")
      @verbose_notes.add(:header_in, @response.response_headers)
      puts(*lines.map { |line| "> #{line}" },
        *@response.response_headers.lines(chomp: true).map { |line| "< #{line}" })
      puts("* #{@response.return_message}") unless @response.return_code == :ok
    end
  end
end
