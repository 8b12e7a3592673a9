# Several limits of time in one Hash: timeout: { total: 5, connect: 1 }.
require_relative "settings"

module Hecaton
  # For Client.new and Client#with.
  module Times # :nodoc: all
    # Name in the Hash → setting.
    NAMES = {
      total: :timeout,
      **(Settings::TIMES.grep(/_timeout\z/) - [:idle_timeout]).to_h do |name|
        [name.to_s.delete_suffix("_timeout").to_sym, name]
      end
    }.freeze
    private_constant :NAMES

    # Settings with each limit under a name of its own.
    def self.flat(settings)
      limits = settings[:timeout]
      return settings unless limits.is_a?(Hash)

      check(limits)
      named = limits.transform_keys(NAMES)
      twice = (settings.compact.keys - [:timeout]) & named.keys
      raise ArgumentError, "#{twice.first} is given twice: in timeout, too" if twice.any?

      settings.merge(named)
    end

    private_class_method def self.check(limits)
      unknown = limits.keys - NAMES.keys
      unless unknown.empty?
        raise ArgumentError, "timeout: #{unknown.first.inspect} is unknown: there are #{NAMES.keys.join(", ")}"
      end

      # The value in the Hash, and not the Hash's default. A Hash as this value is no time.
      total = limits.fetch(:total, nil)
      return Client.seconds(total) if total

      raise ArgumentError, "timeout: total is missing: give the longest time in seconds a request may take"
    end
  end
end
