# A middleware for Rack that logs the User-Agent.
module Hecaton
  class Sunset
    # Writes a line for each request, before its response:
    #
    #   user_agent=pokedex; app_name=pokedex; app_env=staging;
    #
    # The last two stand there only if the request has their headers, which Hecaton::Call::Connection sends.
    class LogUserAgent
      # logger:: whatever has `info`. Default nil: the line goes to $stdout.
      # app_name_header::, app_env_header:: where the two are sent.
      def initialize(app, logger: nil, app_name_header: "X-App-Name", app_env_header: "X-App-Env")
        @app = app
        @logger = logger
        @fields = { "user_agent" => key("User-Agent"),
                    "app_name" => key(app_name_header), "app_env" => key(app_env_header) }
      end

      def call(env) # :nodoc:
        write(line(env))
        @app.call(env)
      end

      private

      def key(header) = "HTTP_#{header.upcase.tr("-", "_")}"

      def line(env)
        parts = @fields.filter_map { |name, key|
          "#{name}=#{Sunset.text(env[key])};" if env[key] || name == "user_agent"
        }
        Sunset.line(parts.join(" "))
      end

      def write(line) = @logger ? @logger.info(line) : $stdout.puts(line)
    end
  end
end
