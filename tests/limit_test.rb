# A step that takes too long is ended as a whole, and says what it was stuck in: in Ruby's code and outside of it.
require "minitest/autorun"
require "open3"
require "tmpdir"

class LimitTest < Minitest::Test
  LIMIT = File.expand_path("limit", __dir__)
  RUBY = [RbConfig.ruby, "-r#{File.expand_path("../ruby/test/stuck", __dir__)}"].freeze

  WAITS = <<~RUBY.freeze
    def waits_for_another = Queue.new.pop
    Thread.new { sleep }
    waits_for_another
  RUBY

  # Takes a lock twice, while it holds that of Ruby: no handler of a signal can run.
  LOCKED = <<~RUBY.freeze
    require "fiddle"
    LOCK = Fiddle::Function.new(Fiddle.dlopen(nil)["pthread_mutex_lock"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT, need_gvl: true)
    def locks_up(mutex) = 2.times { LOCK.call(mutex) }
    locks_up(Fiddle::Pointer.malloc(64).tap { |mutex| mutex[0, 64] = 0.chr * 64 })
  RUBY

  # What the block takes of `stopped` has all of these words. If not, a longer limit is tried: a busy machine may start
  # Ruby late.
  def assert_says(words, command, arguments)
    said = nil
    [2, 8, 32].find do |seconds|
      said = yield stopped(command, arguments, seconds)
      words.all? { |word| word.match?(said) }
    end
    words.each { |word| assert_match word, said }
  end

  # The report about a step that runs this shell command for so long, and what the step prints.
  def stopped(command, arguments, seconds)
    Dir.mktmpdir do |folder|
      report = File.join(folder, "late")
      named = { "HECATON_LATE" => report, "WAITS" => WAITS }
      step = IO.popen([named, "bash", "-c", command, "step", *arguments], err: %i[child out])
      limit = spawn(LIMIT, seconds.to_s, step.pid.to_s, report)
      said = step.read # All that the step started has ended: each process had its standard output.
      Process.kill(:TERM, limit)
      Process.wait(limit)
      [File.read(report), said]
    ensure
      step.close
    end
  end

  def test_each_ruby_of_a_step_says_what_its_threads_do
    words = [/took longer than \d+ s/, /sleep 1000$/, /in [`'].*waits_for_another'\n.*-e:3/,
             /-e:2:in [`'].*sleep'/, /-e:1:in [`'].*system'/]
    assert_says(words, '"$@" "$WAITS" & "$@" "system(*ARGV)" sleep 1000; true', [*RUBY, "-e"], &:first)
  end

  def test_a_ruby_that_is_stuck_outside_of_its_code_says_where
    words = [/\[BUG\]/, /-e:3:in [`'].*locks_up'/, /pthread_mutex_lock/]
    assert_says(words, '"$@"; sleep 1000; true', [*RUBY, "-e", LOCKED], &:last)
  end
end
