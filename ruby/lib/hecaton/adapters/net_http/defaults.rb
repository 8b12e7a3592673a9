# Defaults for all objects of Hecaton::NetHTTP, which a program can change, and the replacement of Net::HTTP itself.

class Hecaton::NetHTTP
  # Seconds a request may take in all, unless another limit is set.
  TOTAL_TIMEOUT = 300
  # How many clients are held at most, each with other settings.
  MOST_CLIENTS = 12
  # How many connections each has at most, where the limit of descriptors is high.
  MOST_CONNECTIONS = 256
  private_constant :TOTAL_TIMEOUT, :MOST_CLIENTS, :MOST_CONNECTIONS

  class << self
    # Seconds for a whole request, from its start to the last byte of the body, unless its object has a total_timeout
    # of its own. Default nil: 300, or the sum of open_timeout, write_timeout and read_timeout where that is longer.
    # It cannot be switched off, but be as long as you like.
    attr_reader :total_timeout

    # Sets it; nil for the default. Objects that exist have it from their next request on.
    def total_timeout=(seconds)
      Hecaton::Client.seconds(seconds, :total_timeout)
      @total_timeout = seconds
      @generation += 1
    end

    # "1.1" (the default), "2", or nil for what the server chooses over TLS. Net::HTTP itself supports only 1.1.
    attr_reader :http

    # Sets it.
    def http=(version)
      unless [nil, "1.1", "2"].include?(version)
        raise ArgumentError, "http is #{version.inspect}: give \"1.1\", \"2\", or nil for what the server chooses"
      end

      @http = version
      @generation += 1
    end

    # Array: features of Hecaton::Client for all objects, nil for none. Net::HTTP has no such setting.
    attr_reader :features

    # Sets them. Objects that exist have them from their next request on.
    def features=(list)
      Hecaton::Features.of(list)
      @features = list
      @generation += 1
      shutdown
    end

    # The limit of connections of one client, to all origins together; idle ones count. A request beyond waits its
    # turn, within its total_timeout. Objects with the same settings share a client. Default: a sixteenth of the
    # process's limit of descriptors, at least 8 and at most 256 (64 where the limit is 1024). No more than 12 clients
    # are held, so all of them together never have more than three quarters of the descriptors.
    def max_connections
      @max_connections ||= (Process.getrlimit(Process::RLIMIT_NOFILE).first / 16).clamp(8, MOST_CONNECTIONS)
    end

    # Sets it, for clients that are made from now on. nil for the default.
    def max_connections=(count)
      Settings.check_count(:max_connections, count, ", or nil for the default") unless count.nil?
      @max_connections = count
      shutdown
    end

    # The Clients of all objects that have none of their own, and how often a setting of all objects
    # was changed.
    attr_reader :pool, :generation # :nodoc:

    # The total of an object whose phases may take so long together.
    def total_of(phases) = total_timeout || [TOTAL_TIMEOUT, phases].max # :nodoc:

    # The Hecaton::Response (with attempts, timings, redirects) from which a Net::HTTPResponse was made; nil if
    # Net::HTTP itself received it. If a block read the body, the facts are those up to the head, and there is no
    # body.
    def outcome(response)
      outcome = response.instance_variable_get(:@hecaton)
      outcome.is_a?(String) ? Hecaton::Response.from_engine(response.code.to_i, outcome, "") : outcome
    end

    # Closes all connections that wait to be used again. Requests that run continue to their ends. Returns nil.
    def shutdown = pool.clear

    # From now on requests of all started Net::HTTP objects go through Hecaton, also of subclasses. That includes
    # open-uri, rest-client, HTTParty and every other caller of Net::HTTP. The constant stays what it is. Objects that
    # have been started before stay what they were. Returns nil, and does nothing the second time.
    def replace!
      superclass.prepend(Transport)
      @replaced = true
      nil
    end

    # Ends that. Objects that have been started since stay on Hecaton until they are started again. Returns nil.
    def restore!
      @replaced = false
      nil
    end

    # Whether Net::HTTP is replaced now.
    def replaced? = @replaced == true
  end
  @http = "1.1"
  @generation = 0
  @pool = Clients.new(MOST_CLIENTS) { max_connections }
end
