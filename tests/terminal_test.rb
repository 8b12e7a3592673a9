# The view of a run in a terminal, and the lines that remain when the run ends, by itself or by Ctrl-C.
require "minitest/autorun"
require "io/console"
require "open3"
require "pty"
require "tmpdir"

class TerminalTest < Minitest::Test
  ROOT = File.expand_path("..", __dir__)
  HECATON = ENV.fetch("HECATON_WITH_FETCH", "#{ROOT}/target/debug/hecaton")
  ENVIRONMENT = { "HECATON_ROOT" => ROOT, "TERM" => "xterm-256color", "NO_COLOR" => nil, "COLUMNS" => nil }.freeze
  COLUMNS = 80
  CTRL_C = "\x03".freeze

  def setup = @folder = Dir.mktmpdir
  def teardown = FileUtils.rm_rf(@folder)

  # The output of a command in a terminal, and its status; Ctrl-C is pressed as soon as the block says so of the output.
  def in_terminal(*command)
    output = +""
    PTY.spawn(ENVIRONMENT, HECATON, *command, chdir: @folder) do |screen, keys, pid|
      screen.winsize = [30, COLUMNS]
      pressed = !block_given?
      loop do
        output << screen.readpartial(4096).force_encoding(Encoding::UTF_8)
        pressed ||= yield(output.scrub) && keys.write(CTRL_C)
      end
    rescue EOFError, Errno::EIO
      return [output.scrub, Process.wait2(pid).last.exitstatus]
    end
  end

  # A test server for the block.
  def with_server(*options)
    command = [HECATON, "serve", "--listen", "127.0.0.1:0", *options]
    Open3.popen2(ENVIRONMENT, *command, err: File::NULL) do |_, out, thread|
      yield out.gets[%r{http://[\d.:]+}]
    ensure
      Process.kill(:TERM, thread.pid)
    end
  end

  def list(url, count)
    File.write("#{@folder}/urls.txt", Array.new(count) { |id| "#{url}/r/#{id}\n" }.join)
    "urls.txt"
  end

  # The lines that a terminal shows in the end.
  def shown(output) = Screen.new(COLUMNS).feed(output).lines

  def test_ctrl_c_leaves_nothing_of_the_view_of_a_download
    output, status = with_server("--delay", "20ms") do |url|
      in_terminal("fetch", list(url, 100_000), "-o", "out") { |so_far| so_far.match?(/[1-9][\d,]* of 100,000 done/) }
    end
    assert_equal 130, status
    assert_match(/\e\[36m/, output)
    assert_match(/127\.0\.0\.1:\d+: [\d,]+ done, 0 failed, [\d,]+ ms on average, [\d,]+ in flight/, output)
    lines = shown(output)
    assert_equal "planned 100,000 inputs in 1 part in out", lines.first
    # It is said only if the run is looked at between the keys and the end of the requests in flight.
    notice = /stopping when the requests in flight have ended; [^:]* the same command resumes/
    last = /\A(#{notice})?hecaton: stopped as requested: [\d,]+ of 100,000 inputs have their record; /
    assert_match(last, lines[1..].join, output)
  end

  def test_a_download_that_ends_names_its_page
    output, status = with_server { |url| in_terminal("fetch", list(url, 200), "-o", "out") }
    assert_equal 0, status
    lines = shown(output)
    assert_match(/\A200 records: 200 good .*, out\/report\.html\z/, lines[1..].join, output)
  end

  def test_the_table_of_a_sweep_fills_while_it_measures_and_is_gone_at_the_end
    output, status = in_terminal(*%w[sweep net-http -c 1,2 -b 133 -d 0 --time 100ms -r 6 -o out])
    assert_equal 0, status
    drawn = output.scan(/net-http +[▁-█][▁-█ ]* +[\d,.… ]+/).map { |line| line.scan(/\d[\d,.]*/).size }
    # First the one load, whichever comes first, and then both.
    assert_includes drawn, 1, output
    assert_includes drawn, 2, output
    assert_empty shown(output).grep(/\Anet-http +[▁-█]/), output
  end

  def test_ctrl_c_leaves_nothing_of_the_bar_of_a_sweep
    words = %w[sweep net-http -c 1,2,5 -b 133 -d 0 --time 100ms -r 6 -o out]
    output, status = in_terminal(*words) { |so_far| so_far.match?(%r{[1-9]\d*/\d+ rounds}) }
    assert_equal 130, status
    assert_empty shown(output).grep(/█|░|requests\/s/), output
  end
end

# As much of a terminal as the views need: lines break at the last column, and the cursor can go up, down and back.
class Screen
  def initialize(columns)
    @columns, @rows, @row, @column = columns, [+""], 0, 0
  end

  def lines = @rows.map(&:rstrip).reject(&:empty?)

  def feed(text)
    text.scan(/\e\[([?\d;]*)([A-Za-z])|([^\e])/) do |numbers, code, letter|
      code ? control(code, numbers) : write(letter)
    end
    self
  end

  private

  def write(letter)
    case letter
    when "\r" then @column = 0
    when "\n" then down
    when /[[:cntrl:]]/ then nil
    else print(letter)
    end
  end

  def print(letter)
    if @column == @columns
      @column = 0
      down
    end
    row = @rows[@row]
    row << " " * [@column - row.size, 0].max
    row[@column] = letter
    @column += 1
  end

  def down
    @row += 1
    @rows << +"" while @rows.size <= @row
  end

  def control(code, numbers)
    count = [numbers.to_i, 1].max
    case code
    when "A" then @row = [@row - count, 0].max
    when "B" then count.times { down }
    when "G" then @column = count - 1
    when "K" then @rows[@row] = numbers == "2" ? +"" : @rows[@row][0, @column] || +""
    when "J" then @rows[@row..] = [@rows[@row][0, @column] || +""]
    end
  end
end
