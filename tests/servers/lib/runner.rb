# Runs the checks of each server in a process of its own, some servers side by side, and gathers what came of them.
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

    # Ended from outside, nothing that was started stays.
    def stop_at_the_end
      @children = []
      %i[TERM INT].each { |signal| trap(signal) { @children.each { |child| Process.kill(:TERM, child) rescue nil }; exit!(1) } }
    end

    # A child, so that a server's checks begin with a newly loaded gem, and a crash is one server's.
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

    def take(server, told)
      @versions[server.title] = told[:version] if told[:version]
      if told[:absent]
        @absent[server.title] = told[:absent]
        puts format("%-14s absent: %s", server.title, told[:absent])
      elsif told[:check]
        @cells << cell = Cell.new(server: server.title, **told.slice(:check, :state, :note, :curl, :seconds))
        puts format("%-14s %-13s %-9s %s", cell.server, cell.check, cell.state,
          [cell.note, cell.curl && "(curl: #{cell.curl})"].compact.join(" "))
      end
      $stdout.flush
    end

    # In the child.
    def alone(klass, dir, writer)
      tell = ->(told) { writer.puts(JSON.generate(told)); writer.flush }
      home = File.join(dir, klass.title).tap { |path| Dir.mkdir(path) }
      File.chmod(0o777, home) # What begins as root may go on as somebody else.
      server = klass.new(home, @certificates)
      trap(:TERM) { server.stop; exit!(1) }
      klass.path # or it is absent
      tell.call(version: klass.version)
      server.start
      @checks.select { |check| check.for?(server) }.each { |check| tell.call(judged(server, check)) }
    rescue Absent => error
      tell.call(absent: error.message)
    ensure
      server&.stop
    end

    def judged(server, check)
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

    # Failed, or explained: when the server's file says why, and it looks as it says.
    def lost(server, check, error)
      note = said(error)
      why, seen = server.class.explanations[check.name]
      told = { check: check.name, state: "failed", note: note, curl: check.curl(server) }
      why && note.match?(seen) ? told.merge(state: "explained", note: "#{why} [#{note}]") : told
    end

    def said(error)
      text = error.is_a?(Failed) ? error.message : "#{error.class.name} #{error.message}"
      text = "#{text} (#{error.backtrace&.first.to_s[%r{[^/]+$}]})" unless error.is_a?(Failed) || error.is_a?(Hecaton::Error)
      text.gsub(/\s+/, " ")[0, 300]
    end
  end
end
