# The names of Ethon that programs for Typhoeus use: its errors, its logger, and the lists that curl takes.
#
# Where the real Ethon is loaded, its own are used; where it comes later, it finds these as it would define them.
module Ethon
  # See ethon's own.
  module Errors
    class EthonError < StandardError; end unless const_defined?(:EthonError)

    unless const_defined?(:InvalidOption)
      # An option that there is none of, or that cannot be honoured.
      class InvalidOption < EthonError
        def initialize(option) = super("The option: #{option} is invalid.")
      end
    end

    unless const_defined?(:InvalidValue)
      # A value that an option cannot have.
      class InvalidValue < EthonError
        def initialize(option, value) = super("The value: #{value} is invalid for option: #{option}.")
      end
    end
  end

  unless respond_to?(:logger=)
    class << self
      # The settings that programs use for Ethon's logging. Hecaton writes nothing there (a client's logger is its own
      # setting).
      attr_writer :logger

      # Rails' logger, or one to $stdout, unless another was set.
      def logger = @logger ||= (::Rails.logger if defined?(::Rails) && ::Rails.respond_to?(:logger)) || quiet_logger

      private

      def quiet_logger
        require "logger"
        Logger.new($stdout, level: Logger::INFO)
      end
    end
  end

  # The lists of libcurl, as Arrays.
  module Curl
    unless respond_to?(:slist_append)
      # list and one more String, for options such as resolve. list may be nil.
      def self.slist_append(list, string) = [*list, string]
    end
  end
end
