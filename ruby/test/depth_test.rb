# Nothing overflows the stack, and a program that overflows its own stops nothing else. Not run by `rake sig`, whose
# checker takes minutes for so many calls.
require "test_helper"
require "open3"

class DepthTest < ServerTest
  # None of these does any I/O, so nothing but the batch itself keeps the stack flat.
  def test_a_hundred_thousand_requests_that_fail_at_once_each_queued_by_the_last_do_not_overflow_the_stack
    left = 100_000
    client.batch(concurrency: 10) do |batch|
      again = ->(_) { batch.get(url("/r/1"), timeout: 0).on_failure(&again) if (left -= 1) >= 0 }
      again.call(nil)
    end
    assert_equal(-1, left)
  end

  def test_a_hundred_thousand_requests_queued_at_once_that_fail_at_once_do_not_overflow_the_stack
    failed = 0
    client.batch(concurrency: 100) do |batch|
      100_000.times { batch.get(url("/r/1"), timeout: 0).on_failure { failed += 1 } }
    end
    assert_equal 100_000, failed
  end

  def test_a_hundred_thousand_callbacks_of_one_request_do_not_overflow_the_stack
    called = 0
    client.batch do |batch|
      request = batch.get(url("/r/1"))
      100_000.times { request.on_complete { called += 1 } }
    end
    assert_equal 100_000, called
  end

  def test_callbacks_that_give_the_next_after_the_end_do_not_overflow_the_stack
    request = nil
    client.batch { |batch| request = batch.get(url("/r/1")) }
    left = 100_000
    again = ->(_) { request.on_complete(&again) if (left -= 1) >= 0 }
    request.on_complete(&again)
    assert_equal(-1, left)
  end

  LIB = File.expand_path("../lib", __dir__)

  # Through `each`, so that the machine stack overflows first. Ruby then leaves whatever runs.
  OVERFLOW = <<~'RUBY'
    client = Hecaton::Client.new(timeout: 10)
    calls = { "get" => -> { client.get(URL) }, "batch" => -> { client.batch { |batch| batch.get(URL) } },
              "stream" => -> { client.get(URL, &:itself) }, "post" => -> { client.post(URL, body: "x") } }
    call = calls.fetch(ARGV.first)
    again = ->(deeper) { [1].each { call.(); deeper.(deeper) } }
    overflows = lambda do
      again.(again)
    rescue SystemStackError => error
      error.message
    end
    in_fiber = -> { Fiber.new { overflows.() }.resume }
    puts Thread.new(&overflows).value, Thread.new(&in_fiber).value
    puts Thread.new { client.get(URL).status }.value, client.get(URL).status
  RUBY

  def test_a_program_that_overflows_its_stack_in_a_request_can_send_others
    %w[get batch stream post].each do |call|
      script = "URL = #{url("/r/1").inspect}\n#{OVERFLOW}"
      said, status = Open3.capture2e(RbConfig.ruby, "-I#{LIB}", "-rhecaton", "-e", script, call)
      assert_predicate status, :success?, "#{call}: #{said}"
      assert_equal ["stack level too deep"] * 2 + %w[200 200], said.lines(chomp: true), call
    end
  end
end
