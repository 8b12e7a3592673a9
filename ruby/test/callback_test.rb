# The callbacks of a batch's request: which are called, when, in which order, and how often.
require "test_helper"

class CallbackTest < ServerTest
  def test_success_is_a_status_of_2xx_and_all_else_is_failure
    seen = Hash.new { |hash, key| hash[key] = [] }
    client.batch do |batch|
      { "/r/1" => 200, "/status/204" => 204, "/status/302" => 302, "/status/404" => 404, "/status/500" => 500,
        "/fault/close" => nil }.each do |path, status|
        batch.get(url(path))
          .on_success { |outcome| seen[:success] << outcome.response.status }
          .on_failure { |outcome| seen[:failure] << outcome.response&.status }
          .on_complete { seen[:complete] << status }
      end
    end
    assert_equal [200, 204], seen[:success].sort
    assert_equal [302, 404, 500, nil], seen[:failure].sort_by { |status| status || 1000 }
    assert_equal 6, seen[:complete].size
  end

  def test_callbacks_are_called_in_the_order_they_were_given_and_late_ones_at_once
    order = []
    client.batch do |batch|
      request = batch.get(url("/r/1"))
      request.on_complete { order << 1 }.on_success { order << 2 }.on_failure { flunk }.on_complete { order << 3 }
      request.on_complete { order << 4; request.on_success { order << 5; request.on_complete { order << 7 }; order << 6 } }
      request.on_success { order << 8 }
    end
    assert_equal (1..8).to_a, order
  end

  def test_a_callback_given_after_the_end_is_called_at_once
    request = nil
    client.batch { |batch| request = batch.get(url("/r/1")) }
    seen = []
    request.on_complete { |outcome| seen << outcome }.on_success { |outcome| seen << outcome }.on_failure { flunk }
    assert_equal [request.outcome] * 2, seen
    %i[on_complete on_success on_failure].each { |name| assert_raises(ArgumentError) { request.public_send(name) } }
  end

  def test_a_callback_that_raises_ends_the_batch_and_is_never_called_again
    called = []
    request = nil
    error = assert_raises(RuntimeError) do
      client.batch do |batch|
        request = batch.get(url("/r/1")).on_success { called << 1; raise "stop" }.on_complete { called << 2 }
      end
    end
    assert_equal "stop", error.message
    request.on_complete { called << 3 }
    assert_equal [1, 3], called
  end
end
