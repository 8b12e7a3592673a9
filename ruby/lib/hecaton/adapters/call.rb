# Connections of Faraday's that must name the calling application and set a timeout, and that notice deprecations.
require_relative "faraday"

module Hecaton
  #   Hecaton::Call.configure { |config| config.app_name = "pokedex" }
  #   connection = Hecaton::Call::Connection.new(host: "https://api.example", timeout: 5)
  #   connection.get("/users/1").body
  module Call
    class << self
      # Yields the Configuration, and returns it.
      def configure
        yield configuration
        configuration
      end

      # Configuration of this process.
      def configuration = @configuration ||= Configuration.new
    end
  end
end

%w[configuration retry watcher application connection].each { |name| require_relative "call/#{name}" }
