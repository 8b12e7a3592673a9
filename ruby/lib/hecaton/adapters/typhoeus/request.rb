# A request as in Typhoeus: its URL, options and callbacks.
require "digest/sha1"
require "zlib"

module Hecaton::Typhoeus
  # Run by itself, or queued in a Hydra. Options are those of Typhoeus; see docs/from-typhoeus.md.
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
      @options = (@plan = @known = Plan.known(options)) ? @plan.lasting : own(options)
      @bare = true
      complete unless Config::DEFAULTS.empty?
    end

    # Hash: the given options and the defaults. Defaults are the headers User-Agent and Expect, maxredirs, and the
    # settings of Config. The Hash may be changed until the request runs.
    def options
      complete if @bare
      @options
    end

    # Replaces the options; these get no defaults.
    def options=(options)
      @bare = @known = nil
      @options = options
    end

    # String: the URL with its params, as it will be sent.
    def url = Query.join(base_url.to_s, options[:params], options[:params_encoding], options[:escape] != false)

    # Sends the request, calls its callbacks, and returns its Response, whether the request succeeded or failed.
    #
    # Raises Ethon::Errors::InvalidOption or InvalidValue for options, Errors::NoStub, and what callbacks raise.
    def run
      Layers.pass(self) do
        plan = planned
        finish(Exchange.perform(plan, plan.url_of(self), (self if watched?)))
      end
    end

    # Takes the response and calls the callbacks. Returns the response.
    def finish(response, bypass_memoization = nil)
      take(response, bypass_memoization)
      call_back
      response
    end

    # Takes the response, and returns the list for call_back.
    def take(response, bypass_memoization = nil) # :nodoc:
      bypass_memoization ? @response = response : self.response = response
      response.request = self
      report if @plan && !@plan.plain && @plan.verbose?
      list_callbacks
    end

    # Itself, queued anew.
    def unanswered # :nodoc:
      @calls = nil
      self
    end

    # Whether a response has come since.
    def answered? = !@calls.nil? # :nodoc:

    # Response, nil before the end.
    def response = @response ||= nil

    # Sets the response, and stores it in the cache and the hydra's memory if they are used.
    def response=(response)
      keep(response) if layered?
      @response = response
    end

    # Adds a block that is called with each piece of the body and the Response of its head, and may return :abort.
    # With such a block, the final Response has no body. Returns the Array of these blocks.
    def on_body(&block) = listed(@on_body ||= [], block)

    # Whether the request has an on_body block.
    def streaming? = some?(@on_body)

    # Whether a callback is to be called before the end of the request.
    def watched? # :nodoc:
      return true unless FOR_ALL.empty? || Hecaton::Typhoeus.listening_to_headers.empty?

      (@on_body || @on_headers || @on_progress) && (streaming? || some?(@on_headers) || some?(@on_progress))
    end

    # Whether one of Layers may have a response, or is to keep one. Options of a known plan name no cache.
    def layered? = !Layers::USED.empty? || @block_connection || (!@known && @options[:cache]) # :nodoc:

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
    def cache_key = Digest::SHA1.hexdigest("hecaton#{self.class.name}#{base_url}#{text(options)}")

    # Integer: equal for equal requests.
    def hash = Zlib.crc32(cache_key)

    # Equal in URL and options.
    def eql?(other) = self.class == other.class && base_url == other.base_url && options == other.options

    # String: the body as a form without escapes, for programs that compare it.
    def encoded_body = Query.text(options[:body] || "", nil, escape: false)

    def sent_bytes = (@plan.body.bytesize if @plan&.body.is_a?(String)) # :nodoc:
    # DebugInfo: what verbose wrote down; nil without it.
    attr_reader :debug_info

    # The last Plan, nil for none.
    attr_reader :plan # :nodoc:
    # What hands the parts of its response on.
    attr_writer :in_parts # :nodoc:

    # The Plan by which it is sent now. A Plan knows the defaults itself, which the options may be without.
    def planned # :nodoc:
      @in_parts = nil
      @known || (@plan = Plan.of(@base_url, @options))
    end

    # Takes the response of an outcome, by the plan, and returns the list for call_back.
    def take_outcome(outcome) # :nodoc:
      if @plan.plain && !@in_parts
        self.response = response = Response.allocate.load(outcome, nil, nil, nil)
        response.request = self
        return list_callbacks
      end
      @plan.finish if @plan.cookies
      take(@in_parts ? @in_parts.response(outcome) : Exchange.response(@plan, outcome))
    end

    # Ruby 3.1 reads a variable slowly if no object of the class ever had it. It makes room for a variable and for those
    # before it in this order. So the first one that a request gets is the last here.
    if RUBY_VERSION < "3.2"
      allocate.instance_exec do
        @on_progress = @on_body = @on_headers = @on_failure = @on_success = @block_connection = nil
        @response = @in_parts = @calls = @hydra = @on_complete = @bare = @options = @known = @plan = nil
        @base_url = @original_options = nil
      end
    end

    COPIED = %i[@base_url @original_options @options @block_connection @response].freeze
    private_constant :COPIED

    # Leaves out callbacks, and other things that only make sense in this process.
    def marshal_dump
      options
      COPIED.select { |name| instance_variable_defined?(name) }.map { |name| [name, instance_variable_get(name)] }
    end

    def marshal_load(attributes) = attributes.each { |name, value| instance_variable_set(name, value) } # :nodoc:

    private

    def keep(response)
      cache = cacheable?
      cache.set(self, response.settle) if cache && !response.cached?
      hydra.memory[self] = response if hydra && memoizable?
    end

    def some?(list) = !(list.nil? || list.empty?)

    NONE = {}.freeze
    private_constant :NONE

    # A copy, as the program may change what it gave.
    def own(options)
      return NONE if options.empty?

      options[:headers] ? options.merge(headers: options[:headers].dup) : options.dup
    end

    def complete
      @bare = @known = nil
      @options = Marshal.load(Marshal.dump(@options)) if @options.frozen?
      options = @options
      options[:headers] = { "User-Agent" => Config.user_agent || USER_AGENT }.merge(options[:headers] || {})
      options[:headers]["Expect"] ||= ""
      options[:maxredirs] ||= 50
      Config::DEFAULTS.each do |name, value|
        case name
        when :proxy then options[:proxy] = value unless options.key?(:proxy)
        when :verbose, :timeout, :connecttimeout then options[name] = value if options[name].nil?
        end
      end
    end

    def text(value)
      case value
      when Hash then text(value.sort_by { |name, _| name.to_s })
      when Array then value.map { |each| text(each) }.to_s
      else value.to_s
      end
    end

    # The text that verbose prints, and keeps in debug_info.
    def report
      @debug_info = DebugInfo.new
      lines = ["#{@plan.verb} #{@plan.url_of(self)}", *@plan.headers&.map { |name, value| "#{name}: #{value}" }]
      @debug_info.add(:header_out, "#{lines.join("\r\n")}\r\n\r\n")
      @debug_info.add(:header_in, @response.response_headers)
      puts(*lines.map { |line| "> #{line}" },
        *@response.response_headers.lines(chomp: true).map { |line| "< #{line}" })
      puts("* #{@response.return_message}") unless @response.return_code == :ok
    end
  end
end
