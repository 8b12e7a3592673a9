# Runs the checks of each server in a process of its own, some servers side by side, and collects the results.
module Servers
  # The result of one check of one server: passed, failed, explained, absent.
  Cell = Struct.new(:server, :check, :state, :note, :curl, :seconds, keyword_init: true)

  class Runner
    SERVER_LIMIT = 360

    attr_reader :cells, :versions, :absent

    def initialize(servers, checks, side_by_side: 3)
      @servers, @checks, @side_by_side = servers, checks, side_by_side
      @cells, @versions, @absent = [], {}, {}
    end

    def run
      Dir.mktmpdir("hecaton-servers-") do |dir|
        File.chmod(0o755, dir)
        @certificates = Certificates.new(dir)
        waiting = @servers.dup
        stop_at_the_end
        Array.new(@side_by_side) do
          Thread.new { while (server = waiting.shift) do apart(server, dir) end }
        end.each(&:join)
      end
    end

    private

    # A signal that ends this process ends all its children too.
    def stop_at_the_end
      @children = []
      %i[TERM INT].each do |signal|
        trap(signal) { @children.each { |child| Process.kill(:TERM, child) rescue nil }; exit!(1) }
      end
    end

    # Each server's checks run in a child process, so they begin with a newly loaded gem, and a crash affects one
    # server.
    def apart(server, dir)
      reader, writer = IO.pipe
      child = fork do
        reader.close
        alone(server, dir, writer)
        writer.close
        exit!(0)
      end
      writer.close
      @children << child
      gather(server, reader, child)
    ensure
      @children.delete(child)
      reader&.close
    end

    def gather(server, reader, child)
      deadline = Thread.new { sleep SERVER_LIMIT; Process.kill(:TERM, child) }
      while (line = reader.gets)
        take(server, JSON.parse(line, symbolize_names: true))
      end
      deadline.kill
      _, status = Process.wait2(child)
      take(server,
        { check: "run", state: "failed", note: "the checks of this server ended by #{status}" }) unless status.success?
    end

    def take(server, report)
      @versions[server.title] = report[:version] if report[:version]
      if report[:absent]
        @absent[server.title] = report[:absent]
        puts format("%-14s absent: %s", server.title, report[:absent])
      elsif report[:check]
        @cells << cell = Cell.new(server: server.title, **report.slice(:check, :state, :note, :curl, :seconds))
        puts format("%-14s %-13s %-9s %s", cell.server, cell.check, cell.state,
          [cell.note, cell.curl && "(curl: #{cell.curl})"].compact.join(" "))
      end
      $stdout.flush
    end

    # In the child.
    def alone(klass, dir, writer)
      send_report = ->(report) { writer.puts(JSON.generate(report)); writer.flush }
      home = File.join(dir, klass.title).tap { |path| Dir.mkdir(path) }
      File.chmod(0o777, home) # A server that begins as root may continue as another user.
      server = klass.new(home, @certificates)
      trap(:TERM) { server.stop; exit!(1) }
      klass.path # or it is absent
      send_report.call(version: klass.version)
      server.start
      @checks.select { |check| check.for?(server) }.each { |check| send_report.call(run_check(server, check)) }
    rescue Absent => error
      send_report.call(absent: error.message)
    ensure
      server&.stop
    end

    def run_check(server, check)
      server.start_again unless server.running?
      begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      seconds = -> { (Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun).round(1) }
      note = check.call(server)
      { check: check.name, state: "passed", note: note, seconds: seconds.call }
    rescue Absent, Interrupt
      raise
    rescue Exception => error # rubocop:disable Lint/RescueException: a check may raise anything
      lost(server, check, error).merge(seconds: seconds&.call)
    end

    # Checks of servers that end connections under load, and the failure that a busy machine can then bring about. If
    # curl has it too just afterwards, the server has lost the requests.
    LOADED = /\A(?:reload|GOAWAY)/
    LOST = /: the connection ended before (?:the|a) response/
    private_constant :LOADED, :LOST

    # Failed, or explained if the message matches the pattern of a reason: the one in the server's file, or that curl
    # fails alike.
    def lost(server, check, error)
      note = message_of(error)
      note += "; the server has ended: #{server.last_words}" unless server.running?
      why, seen = server.class.explanations[check.name]
      report = { check: check.name, state: "failed", note: note, curl: check.curl(server) }
      why, seen = "curl fails alike", LOST if why.nil? && LOADED.match?(check.name) && report[:curl] == :alike
      why && note.match?(seen) ? report.merge(state: "explained", note: "#{why} [#{note}]") : report
    end

    def message_of(error)
      text = error.is_a?(Failed) ? error.message : "#{error.class.name} #{error.message}"
      expected = error.is_a?(Failed) || error.is_a?(Hecaton::Error)
      text = "#{text} (#{error.backtrace&.first.to_s[%r{[^/]+$}]})" unless expected
      text.gsub(/\s+/, " ")[0, 300]
    end
  end
end
