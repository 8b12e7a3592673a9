# Stubs: the requests that do not go to the network, and their responses.

module Hecaton::Typhoeus
  # Made by Typhoeus.stub.
  class Expectation
    # The conditions of a request: a URL as a String, a Regexp, a URI or nil for any; and options.
    attr_reader :base_url, :options
    # Its creator, as given to stubbed_from; nil by default.
    attr_reader :from

    # All that there are, an Array that may be changed.
    def self.all = @expectations ||= Layers.use && []

    # Forgets them.
    def self.clear = all.clear

    # The response of the first that matches, nil when none does.
    def self.response_for(request) = find_by(request)&.response(request)

    # The first that matches, or nil.
    def self.find_by(request) = @expectations&.find { |expectation| expectation.matches?(request) }

    def initialize(base_url, options = {})
      @base_url = base_url
      @options = options
      @response_counter = 0
      @from = nil
    end

    # Says who made it. Returns itself.
    def stubbed_from(value)
      @from = value
      self
    end

    # Adds a Response, an Array of them, or a block that is called with the request and returns one. They are given in
    # turn, the last one again and again. Returns all.
    def and_return(response = nil, &block) = responses.push(*(response.nil? ? block : response))

    # Whether it is for this request.
    def matches?(request) = url_match?(request.base_url) && options_match?(request)

    # Those that and_return was given.
    def responses = @responses ||= []

    # The next one.
    def response(request)
      response = responses.fetch(@response_counter, responses.last)
      response = response.call(request) if response.respond_to?(:call)
      @response_counter += 1
      response.mock = @from || true
      response
    end

    private

    def options_match?(request)
      return true unless options

      options.all? { |name, value| request.original_options[name] == value || request.options[name] == value }
    end

    def url_match?(url)
      case base_url
      when nil then true
      when Regexp then base_url.match?(url.to_s)
      else (base_url.is_a?(String) || (defined?(URI) && base_url.is_a?(URI))) && base_url.to_s == url.to_s
      end
    end
  end
end
