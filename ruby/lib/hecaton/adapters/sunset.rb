# For Rack: tells clients when the requested resource will end, and logs who they are. Needs no other part of Hecaton.
require "date"
require "time"

module Hecaton
  # A middleware for Rack 2 and 3, which says by Sunset (RFC 8594) and Link until when responses are available:
  #
  #   use Hecaton::Sunset, DateTime.new(2027, 1, 31), link: "https://api.example/v2", only: "/v1"
  #
  #   use Hecaton::Sunset, logger: logger do
  #     sunset DateTime.new(2027, 1, 31), link: "https://api.example/v2", only: "/v1"
  #     sunset "2028-01-01", only: [%r{\A/old/}, ->(env) { env["REQUEST_METHOD"] == "PUT" }]
  #   end
  #
  # If several rules fit a request, the first counts. A Sunset that the application sets itself stays.
  class Sunset
    # One date, and which requests it is for.
    Rule = Struct.new(:date, :link, :only) do
      def for?(env) = only.empty? || only.any? { |part| Sunset.fits?(part, env) }
    end
    private_constant :Rule

    # datetime:: as in #sunset; nil when a block returns it.
    # logger:: an object with `warn`. It gets a line for each request that a rule fits, with its client. Default none.
    def initialize(app, datetime = nil, link: nil, only: nil, logger: nil, &block)
      @app = app
      @logger = logger
      @rules = []
      sunset(datetime, link: link, only: only) if datetime
      instance_eval(&block) if block
    end

    # Adds a date.
    #
    # datetime:: Date, DateTime, Time, or a String that says one. TypeError for others.
    # link:: String, a URL with more information; or called with the env to return one.
    # only:: which requests: a path ("/v1" is /v1 and all under it) or a Regexp for paths. Or an object that is called
    #   with the env, or an Array of these. Default all.
    def sunset(datetime, link: nil, only: nil)
      @rules << Rule.new(Sunset.date(datetime), Sunset.checked(link), Array(only))
    end

    def call(env) # :nodoc:
      status, headers, body = @app.call(env)
      rule = @rules.find { |one| one.for?(env) } or return [status, headers, body]

      log(env, rule)
      link = rule.link.respond_to?(:call) ? Sunset.checked(rule.link.call(env)) : rule.link
      [status, Sunset.mark(headers.dup, rule.date, link: link), body]
    end

    class << self
      # For a single response: puts Sunset and Link into its headers, a Hash, and returns it.
      def mark(headers, datetime, link: nil)
        put(headers, "sunset", date(datetime).httpdate)
        add(headers, "link", "<#{link}>; rel=\"sunset\"") if checked(link)
        headers
      end

      # A Time in UTC, made of a Date, DateTime, Time or String. TypeError for others.
      def date(value)
        case value
        when String then DateTime.parse(value).to_time.utc
        when DateTime then value.to_time.utc
        when Date then Time.utc(value.year, value.month, value.day)
        when Time then value.getutc
        else raise TypeError,
          "a sunset is of class #{value.class}: give a Date, DateTime, Time, or a String that says one"
        end
      end

      # Returns a link that is a String, can be called, or is nil. TypeError for others.
      def checked(link)
        return link if link.nil? || link.respond_to?(:call) || (link.is_a?(String) && !link.match?(/[<>[:cntrl:]]/))

        raise TypeError, "a sunset's link is #{link.inspect}: give a URL, or what returns one"
      end

      # Whether a request is one of those that `only` names.
      def fits?(part, env)
        path = path(env)
        case part
        when String then path == part || path.start_with?("#{part.chomp("/")}/")
        when Regexp then part.match?(path)
        else part.call(env)
        end
      end

      # String in UTF-8: the requested path.
      def path(env) = text(env["SCRIPT_NAME"]) + text(env["PATH_INFO"])

      # Text from a client in UTF-8, whatever its bytes are.
      def text(value) = value.to_s.dup.force_encoding(Encoding::UTF_8).scrub

      # One line for a log.
      def line(text) = text.gsub(/[[:cntrl:]]/, " ")

      private

      # Names in any case, as applications for Rack 2 write them; lower case is what Rack 3 requires.
      def name(headers, name) = headers.keys.find { |key| key.casecmp?(name) } || name

      def put(headers, name, value)
        name = name(headers, name)
        headers[name] = value unless headers.key?(name)
      end

      def add(headers, name, value)
        name = name(headers, name)
        given = headers[name]
        headers[name] = given.is_a?(Array) ? given + [value] : [given, value].compact.reject(&:empty?).join(", ")
      end
    end

    private

    def log(env, rule)
      return unless @logger

      by = env["HTTP_USER_AGENT"] ? Sunset.text(env["HTTP_USER_AGENT"]) : "a client without a name"
      @logger.warn(Sunset.line("#{env["REQUEST_METHOD"]} #{Sunset.path(env)}, a deprecated endpoint " \
                               "(sunset date #{rule.date.iso8601}), has been called by #{by}"))
    end
  end
end

require_relative "sunset/log_user_agent"
