# A server: how its command and version are found, and how it is configured, started, reloaded and stopped.
module Servers
  # The exception for a server that cannot be checked: it is not installed, or does not start.
  class Absent < StandardError; end

  GIVEN = Set.new # ports
  GIVEN_LOCK = Mutex.new
  private_constant :GIVEN, :GIVEN_LOCK

  # Each file of servers/ defines a subclass. It must have command and endpoints; the rest has defaults.
  class Server
    STARTS_WITHIN = 20
    TRIES = 3

    class << self
      def all = @all ||= []

      def inherited(server)
        super
        Server.all << server
      end

      # The name in the table and on the command line.
      def title(title = nil)
        @title = title if title
        @title
      end

      # The names of the command; the first that is installed is used.
      def program(*names)
        @names = names if names.any?
        @names || []
      end

      # How to get the version: arguments, and a pattern for the version in its output.
      def version_by(*arguments, pattern: /\d+(\.\d+)+/)
        @version_arguments, @version_pattern = arguments, pattern
      end

      # A known failure that is not the gem's fault: the check, the reason, and a pattern for its message.
      def explains(check, why, seen:) = explanations[check] = [why, seen]
      def explanations = @explanations ||= {}

      # A check that cannot be meaningful for this server, and why.
      def leaves_out(check, why) = left_out[check] = why
      def left_out = @left_out ||= {}

      def path
        program.each { |name| Servers.which(name)&.then { |path| return path } }
        raise Absent, "#{program.join(" or ")} is not installed"
      end

      def version
        output, = Open3.capture2e(path, *(@version_arguments || ["--version"]))
        output[@version_pattern || /\d+(\.\d+)+/] || "unknown"
      end
    end

    attr_reader :dir, :certificates

    def initialize(dir, certificates)
      @dir, @certificates, @ports, @pids = dir, certificates, {}, []
    end

    def title = self.class.title
    def path = self.class.path

    # The command or commands that run in the foreground, and the files that they need.
    def command = raise(NotImplementedError)
    def commands = [command]
    def configure = nil
    def environment = {}
    # The endpoints by name, and the ports that must accept connections before the server counts as started.
    def endpoints = raise(NotImplementedError)
    def awaited = @ports.values
    # Whether a connection stays open after a response.
    def keep_alive? = true
    # Whether a connection stays open after a response while others wait to be accepted.
    def keep_alive_under_load? = keep_alive?

    # How many streams a connection of the endpoint h2 may hold.
    def streams = 100

    def endpoint(name = :clear) = (@endpoints ||= endpoints).fetch(name)

    def supports?(need) = (@endpoints ||= endpoints).key?(need) ||
      (need == :ledger ? !test_server.nil? : need == :keep_alive ? keep_alive? : respond_to?(need))

    # A free port under this name, the same at each call until a new try.
    def port(name) = @ports[name] ||= Servers.free_port

    # The test server behind this proxy; nil if it is not needed.
    attr_reader :test_server

    def behind = @test_server ||= TestServer.new

    # A back end that sends interim responses and trailers.
    def back_end = @back_end ||= BackEnd.new

    def write(name, text)
      File.join(dir, name).tap { |path| File.write(path, text) }
    end

    # Starts the server, up to three times with other ports, because another process may have taken a port meanwhile.
    def start
      TRIES.times do |try|
        @ports.clear
        configure
        run
        return nil if accepts? && responds?

        stop_process
        sleep 0.2 * (try + 1)
      end
      raise Absent, "did not start: #{last_words}"
    end

    # Starts a server again that a check brought down.
    def start_again
      stop_process # what one that ended has left behind
      @endpoints = nil
      start
    end

    def stop
      stop_process
    ensure
      @test_server&.stop
      @back_end&.stop
    end

    # The last lines of its log, for a server that does not start.
    def last_words
      text = Dir[File.join(dir, "log*")]
        .map { |log| File.read(log).scrub.lines.last(3).join(" ") }.join(" ").gsub(/\s+/, " ").strip
      text[-300..] || text
    end

    def running?
      @pids.any? && @pids.all? { |pid| alive?(pid) }
    end

    # The first command's process id, for signals.
    def pid = @pids.first

    private

    def run
      @pids = commands.map.with_index do |command, at|
        Process.spawn(environment, *command, in: File::NULL, out: File.join(dir, "log#{at}"), err: %i[child out],
          chdir: dir, pgroup: true)
      end
    end

    def accepts?
      deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + STARTS_WITHIN
      until awaited.all? { |port| Servers.accepts?(port) }
        return false if !running? || Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline

        sleep 0.05
      end
      true
    end

    # A port accepts connections before the server's workers respond.
    def responds?
      @endpoints = nil
      5.times { endpoint.curl("/echo?id=0", limit: 2).ok? ? (return true) : sleep(0.3) } && false
    end

    def alive?(pid)
      Process.wait(pid, Process::WNOHANG).nil?
    rescue Errno::ECHILD
      false
    end

    # Ends the process groups that were started here, and no others.
    def stop_process
      @pids.each { |pid| signal(:TERM, -pid) }
      60.times { @pids.any? { |pid| alive?(pid) } ? sleep(0.05) : break }
      @pids.each { |pid| signal(:KILL, -pid) }
      @pids.each { |pid| Process.wait(pid) if alive?(pid) }
    ensure
      @pids = []
    end

    def signal(name, pid)
      Process.kill(name, pid)
    rescue Errno::ESRCH
      nil
    end
  end

  class << self
    def which(name)
      return (name if File.executable?(name)) if name.include?("/")

      [*ENV["PATH"].split(":"), "/usr/sbin", "/usr/local/sbin", "/sbin"]
        .map { |dir| File.join(dir, name) }.find { |path| File.executable?(path) }
    end

    # A port that nobody listens on, and that was not given before: a server listens on several, and later. It is below
    # those that the system gives to connections by itself (ip(7), ip_local_port_range), so that no connection takes it
    # meanwhile.
    def free_port
      loop do
        port = rand(10_000...32_000)
        TCPServer.open("127.0.0.1", port, &:close)
        return port if GIVEN_LOCK.synchronize { GIVEN.add?(port) }
      rescue Errno::EADDRINUSE
        next
      end
    end

    def accepts?(port)
      Socket.tcp("127.0.0.1", port, connect_timeout: 1).close
      true
    rescue SystemCallError
      false
    end
  end
end
