# A server: how it is found, what its version is, how it is configured, started, told to reload and stopped.
module Servers
  # The exception for a server that cannot be checked: it is not installed, or does not start.
  class Absent < StandardError; end

  # One file of servers/ a subclass. It must have command and endpoints; the rest has defaults.
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

      # Commands of which the first that is found is taken.
      def program(*names)
        @names = names if names.any?
        @names || []
      end

      # How to get the version: arguments, and the part of the output to take.
      def version_by(*arguments, pattern: /\d+(\.\d+)+/)
        @version_arguments, @version_pattern = arguments, pattern
      end

      # A failure that is known and not the gem's: the check, why, and what its message must look like.
      def explains(check, why, seen:) = explanations[check] = [why, seen]
      def explanations = @explanations ||= {}

      # A check that says nothing of this server, and why.
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
    # The endpoints by name; and the ports that must accept before it counts as started.
    def endpoints = raise(NotImplementedError)
    def awaited = @ports.values
    # Whether a connection is kept after a response.
    def keeps? = true
    # The same while others wait for their turn.
    def keeps_under_load? = keeps?

    # How many streams a connection of the endpoint h2 may hold.
    def streams = 100

    def endpoint(name = :clear) = (@endpoints ||= endpoints).fetch(name)
    def offers?(need) = (@endpoints ||= endpoints).key?(need) || (need == :ledger ? !test_server.nil? : need == :keeps ? keeps? : respond_to?(need))

    # A free port under this name, the same at each call until a new try.
    def port(name) = @ports[name] ||= Servers.free_port

    # The project's own server, for what stands in front of another; nil when it was not needed.
    attr_reader :test_server

    def behind = @test_server ||= TestServer.new

    # A back end that sends interim responses and trailers.
    def back_end = @back_end ||= BackEnd.new

    def write(name, text)
      File.join(dir, name).tap { |path| File.write(path, text) }
    end

    # Three times at most, with other ports: somebody may have taken one meanwhile.
    def start
      TRIES.times do |try|
        @ports.clear
        configure
        run
        return nil if accepts? && answers?

        stop_process
        sleep 0.2 * (try + 1)
      end
      raise Absent, "did not start: #{last_words}"
    end

    # A server that a check brought down is there again for the next.
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
      text = Dir[File.join(dir, "log*")].map { |log| File.read(log).scrub.lines.last(3).join(" ") }.join(" ").gsub(/\s+/, " ").strip
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

    # Ports that accept are not yet workers that respond.
    def answers?
      @endpoints = nil
      5.times { endpoint.curl("/echo?id=0", limit: 2).ok? ? (return true) : sleep(0.3) } && false
    end

    def alive?(pid)
      Process.wait(pid, Process::WNOHANG).nil?
    rescue Errno::ECHILD
      false
    end

    # The groups that were started here and nobody else.
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

      [*ENV["PATH"].split(":"), "/usr/sbin", "/usr/local/sbin", "/sbin"].map { |dir| File.join(dir, name) }.find { |path| File.executable?(path) }
    end

    def free_port = TCPServer.open("127.0.0.1", 0) { |server| server.local_address.ip_port }

    def accepts?(port)
      Socket.tcp("127.0.0.1", port, connect_timeout: 1).close
      true
    rescue SystemCallError
      false
    end
  end
end
