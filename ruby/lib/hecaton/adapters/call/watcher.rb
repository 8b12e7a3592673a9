# Warns when a server says by Sunset (RFC 8594) that the requested resource will end.

module Hecaton::Call
  # A middleware. Warnings go to ActiveSupport::Deprecation and Rollbar, if the program has loaded them, and to
  # logger, any object with `warn`. If there is none of these, they go to Ruby's own warn.
  class Watcher < Faraday::Middleware
    def initialize(app, logger: nil)
      super(app)
      @logger = logger
    end

    def call(env) = @app.call(env).on_complete { |finished| watch(finished) } # :nodoc:

    private

    def watch(env)
      ends = Hecaton::Deprecation.sunset(env.response_headers && env.response_headers["Sunset"])
      warn_of(sentence(env, ends.utc)) if ends
    end

    # The URL is shown without its query, which may contain secrets.
    def sentence(env, ends)
      endpoint = env.url.to_s[/\A[^?#]*/]
      date = ends.to_datetime.iso8601
      said = if ends > Time.now
               "Endpoint #{endpoint} is deprecated for removal on #{date}"
             else
               "Endpoint #{endpoint} was deprecated for removal on #{date} and could be removed AT ANY TIME"
             end
      link = Hecaton::Deprecation.link(env.response_headers["Link"], "sunset")
      link ? "#{said}, see #{link}" : said
    end

    def warn_of(warning)
      reported = [by_active_support(warning), by_rollbar(warning), @logger && (@logger.warn(warning) || true)]
      Kernel.warn(warning) if reported.none?
    end

    # From ActiveSupport 7.2 on, each library has a deprecator of its own.
    def by_active_support(warning)
      return unless defined?(::ActiveSupport::Deprecation)

      deprecation = ::ActiveSupport::Deprecation
      deprecation.respond_to?(:warn) ? deprecation.warn(warning) : Hecaton::Call.deprecator.warn(warning)
      true
    end

    def by_rollbar(warning)
      return unless defined?(::Rollbar) && ::Rollbar.respond_to?(:warning)

      ::Rollbar.warning(warning)
      true
    end
  end

  # ActiveSupport::Deprecation, for <code>Rails.application.deprecators[:hecaton] = Hecaton::Call.deprecator</code>.
  # Only where ActiveSupport is loaded.
  def self.deprecator = @deprecator ||= ::ActiveSupport::Deprecation.new(nil, "Hecaton")
end
