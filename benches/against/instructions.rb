# Counts the instructions that a request costs in user mode: with the processor's counters (`perf stat`) if the
# machine has them, else with valgrind's callgrind. A driver runs twice, once with more requests, so that the
# difference does not include its start and its end. Ruby's garbage collector is off in both runs. Marking the whole
# heap would fall into one of them, and can be a tenth of its count.
require "json"
require "open3"
require "tmpdir"

class Instructions
  # Client, requests in flight, bytes of a body.
  JOBS = [["hecaton-ruby", 50, 133], ["hecaton-ruby", 50, 13_801], ["hecaton-get", 1, 133],
          ["hecaton-get", 1, 13_801]].freeze
  WARM_UP = 500
  REQUESTS = 4_000
  REPEATS = 3
  QUICK = { requests: 300, repeats: 1 }.freeze

  def initialize(hecaton, builds, quick:, say:)
    @hecaton, @builds, @say = hecaton, builds, say
    @requests, @repeats = quick ? QUICK.values : [REQUESTS, REPEATS]
  end

  # Counts, prints a table, and writes the figures to `file`.
  def count(file)
    @counter = counter
    unless @counter
      return @say.puts("Instructions a request: not counted, because this machine has neither perf's counters " \
        "nor valgrind.")
    end

    warn "counting instructions with #{@counter}"
    rows = JOBS.map { |job| row(*job) }
    File.write(file, "#{JSON.pretty_generate(counter: @counter, requests: @requests, repeats: @repeats, rows:)}\n")
    print_table(rows)
  end

  private

  def counter
    output = Open3.capture2e("perf", "stat", "-x,", "-e", "instructions:u", "true").first rescue ""
    return "perf" if output.match?(/^\d+,/)

    "callgrind" if system("valgrind", "--version", out: File::NULL, err: File::NULL)
  end

  # The counts of both builds, measured alternately, so that changes of the machine affect both.
  def row(client, concurrency, body)
    serving(body) do |url|
      counts = Hash.new { |all, build| all[build] = [] }
      @repeats.times do
        @builds.libraries.each_key { |build| counts[build] << a_request(client, build, concurrency, url) }
      end
      own, other = @builds.libraries.keys.map { |build| median(counts[build]) }
      { client:, concurrency:, body_bytes: body, instructions: counts, ratio: (own.to_f / other).round(4) }
    end
  end

  def a_request(client, build, concurrency, url)
    driver = @builds.driver(client, build)
    few, many = [WARM_UP, WARM_UP + @requests].map { |requests| instructions(driver, concurrency, url, requests) }
    (many - few) / @requests
  end

  # The instructions of a whole run of a driver.
  def instructions(driver, concurrency, url, requests)
    Dir.mktmpdir do |folder|
      file = File.join(folder, "count")
      without_collector = File.join(folder, "without_collector.rb")
      File.write(without_collector, "GC.disable\n")
      environment = { "RUBYOPT" => "-r#{without_collector}" }
      run_driver([environment, *counting(file, folder), *driver], concurrency, url, requests)
      pattern = @counter == "perf" ? /^(\d+),/ : /Collected : (\d+)/
      Integer(File.read(file)[pattern, 1] || raise("#{@counter} counted nothing:\n#{File.read(file)}"))
    end
  end

  def counting(file, folder)
    return ["perf", "stat", "-x,", "-e", "instructions:u", "-o", file, "--"] if @counter == "perf"

    ["valgrind", "--tool=callgrind", "--callgrind-out-file=#{folder}/callgrind", "--log-file=#{file}"]
  end

  # Runs a driver from hello to bye (docs/driver-protocol.md).
  def run_driver(command, concurrency, url, requests)
    IO.popen(command, "r+") do |driver|
      send_command(driver, cmd: "hello", proto: 2)
      send_command(driver, cmd: "prepare", method: "GET", url:, append_id: true, concurrency:, keepalive: true,
        verify: "tail", timeout_ms: 60_000)
      response = send_command(driver, cmd: "go", first: 1, count: requests, lat_every: 1)
      raise "#{command.last} did not do all requests: #{response}" unless response["done"] == requests

      send_command(driver, cmd: "bye")
    end
  end

  def send_command(driver, **command)
    driver.puts(JSON.generate({ id: 1, **command }))
    response = driver.gets or raise "a driver ended at #{command[:cmd]}"
    JSON.parse(response).tap { |parsed| parsed["ok"] or raise "a driver responded #{response}" }
  end

  def serving(body)
    server = IO.popen([@hecaton, "serve", "--body", body.to_s])
    yield "#{server.gets.chomp}/r/"
  ensure
    Process.kill("TERM", server.pid)
    server.close
  end

  def median(values) = values.sort[values.size / 2]

  def print_table(rows)
    names = @builds.libraries.keys
    @say.puts("",
      "Instructions a request in user mode, without Ruby's garbage collector (#{@counter}; the median of #{@repeats}" \
      ", and how far they are apart)", "")
    @say.puts(format("%-14s %9s %8s %22s %22s %7s", "client", "in flight", "body", *names, "ratio"))
    rows.each do |row|
      counts = names.map { |name| spread(row[:instructions][name]) }
      @say.puts(format("%-14s %9d %8d %22s %22s %6.3f×", row[:client], row[:concurrency], row[:body_bytes], *counts,
        row[:ratio]))
    end
  end

  def spread(values) = "#{grouped(median(values))} ±#{format("%.1f",
    50.0 * (values.max - values.min) / median(values))} %"

  def grouped(number) = number.to_s.gsub(/(\d)(?=(\d{3})+\z)/, '\1,')
end
