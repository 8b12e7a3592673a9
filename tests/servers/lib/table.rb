# The table at the end of a run: for a terminal, as a page for docs/results/, and as JSON.
module Servers
  class Table
    LABELS = { "passed" => "ok", "failed" => "FAILED", "explained" => "explained" }.freeze

    def initialize(runner, checks, seconds)
      @runner, @checks, @seconds = runner, checks, seconds
      @by = runner.cells.group_by(&:server).sort.to_h
    end

    def passed = count("passed")
    def failed = count("failed")
    def count(state) = @runner.cells.count { |cell| cell.state == state }

    # One line for each server, with the results of its checks.
    def terminal
      lines = @by.map do |server, cells|
        bad = cells.reject { |cell| cell.state == "passed" }.map { |cell| "#{cell.check} #{LABELS[cell.state]}" }
        format("%-14s %-12s %2d of %2d passed%s", server, @runner.versions[server],
          cells.count { |cell| cell.state == "passed" }, cells.size,
          bad.empty? ? "" : ": #{bad.join(", ")}")
      end
      lines + @runner.absent.map { |server, why| format("%-14s absent: %s", server, why) }
    end

    def json
      JSON.pretty_generate(
        taken: Time.now.utc.iso8601, gem: Hecaton::VERSION,
        commit: commit, ruby: RUBY_VERSION, curl: `curl --version`[/curl \S+/],
        seconds: @seconds.round, versions: @runner.versions, absent: @runner.absent,
        checks: @checks.to_h { |check| [check.name, check.meaning] },
        cells: @runner.cells.map(&:to_h)
      )
    end

    def page
      [
        head, "", "| server | version | #{columns.join(" | ")} |", "| --- | --- |#{" --- |" * columns.size}",
        *@by.map { |server, cells| row(server, cells) }, "", *notes, *missing, "", "## The checks", "",
        *@checks.map { |check| "- **#{check.name}**: #{check.meaning}" }, ""
      ].join("\n")
    end

    private

    def commit = `git -C #{ROOT} rev-parse --short HEAD 2>/dev/null`.strip

    def head
      <<~TEXT.strip
        # The gem and real servers: #{passed} checks passed, and #{failed.zero? ? "none" : failed} failed

        `bin/test servers`, #{Time.now.utc.strftime("%Y-%m-%d")}, commit #{commit}, Ruby #{RUBY_VERSION}, #{`curl --version`[/curl \S+/]}, #{@seconds.round} s:
        #{passed} checks passed, #{failed} failed, #{count("explained")} explained, #{@runner.absent.size} servers absent. The document is [servers.json](servers.json).

        `ok` passed; a number points at the list below the table; an empty cell is a check that the server has no endpoint for.
      TEXT
    end

    def columns = @columns ||= @checks.map(&:name).select { |name| @runner.cells.any? { |cell| cell.check == name } }

    def row(server, cells)
      labels = columns.map do |name|
        cell = cells.find { |one| one.check == name }
        cell.nil? ? "" : cell.state == "passed" ? "ok" : "#{cell.state} [#{noted.index(cell) + 1}]"
      end
      "| #{server} | #{@runner.versions[server]} | #{labels.join(" | ")} |"
    end

    def noted = @noted ||= @runner.cells.reject { |cell| cell.state == "passed" }.sort_by { |cell|
      [cell.server, cell.check]
    }

    CURL = { "alike" => "curl fails alike", "better" => "curl does it" }.freeze

    def notes
      noted.map.with_index(1) { |cell, at|
        "#{at}. #{cell.server}, #{cell.check}: #{cell.state}. #{cell.note}#{". #{CURL[cell.curl]}" if cell.curl}."
      }
    end

    def missing = @runner.absent.map { |server, why| "- #{server}: absent, #{why}" }
  end
end
