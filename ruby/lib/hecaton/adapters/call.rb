# Connections of Faraday's that must name the calling application and set a timeout, and that notice deprecations.
require_relative "faraday"

#   Hecaton::Call.configure { |config| config.app_name = "pokedex" }
#   connection = Hecaton::Call::Connection.new(host: "https://api.example", timeout: 5)
#   connection.get("/users/1").body
module Hecaton::Call
  # Set in Hecaton::Call.configure; read when a connection is made.
  class Configuration
    # String: the name of the calling application. Default nil: APP_NAME of the environment, or the name of the Rails
    # application.
    attr_accessor :app_name
    # String: from which environment. Default nil: RACK_ENV of the environment, or that of Rails.
    attr_accessor :app_env
    # String: the headers these are sent in. Default "X-App-Name" and "X-App-Env".
    attr_accessor :app_name_header, :app_env_header
    # Whether a Sunset header leads to a warning: true (the default), false, or an object with `warn`, such as a
    # Logger, to be warned too.
    attr_accessor :detect_deprecations
    # Whether requests are tried again. Default true.
    attr_accessor :retry
    # Hash: options of Retry for all connections, before those of a connection. Default {}.
    attr_accessor :retry_options

    def initialize
      @app_name_header = "X-App-Name"
      @app_env_header = "X-App-Env"
      @detect_deprecations = true
      @retry = true
      @retry_options = {}
    end
  end

  # Yields the Configuration, and returns it.
  def self.configure = configuration.tap { |configuration| yield configuration }

  # Configuration of this process.
  def self.configuration = @configuration ||= Configuration.new
end

%w[retry watcher application connection].each { |name| require_relative "call/#{name}" }
