# Several limits in one Hash, and the timeout of Hecaton's own verbs.
require "test_helper"

class TimesTest < ServerTest
  def phase_of(path, **settings)
    error_of(Hecaton::TimeoutError) { Hecaton::Client.new(**settings).get(url(path)) }.phase
  end

  def test_each_limit_has_its_name
    assert_equal :total, phase_of("/delay/5000", timeout: { total: 0.05 })
    assert_equal :first_byte, phase_of("/delay/5000", timeout: { total: 20, first_byte: 0.05 })
    assert_equal :connect, phase_of("/r/1", timeout: { total: 20, connect: 0 })
    assert_equal 200, Hecaton::Client.new(timeout: { total: 20, connect: 3, read: nil }).get(url("/r/1")).status
    assert_equal(200, Hecaton::Client.open(timeout: { total: 20 }) { |client| client.get(url("/r/1")).status })
  end

  def test_a_derived_client_takes_those_of_requests
    base = Hecaton::Client.new(timeout: { total: 20, connect: 3 })
    derived = base.with(timeout: { total: 20, first_byte: 0.05 })
    assert_equal :first_byte, error_of(Hecaton::TimeoutError) { derived.get(url("/delay/5000")) }.phase
    error = error_of(ArgumentError) { base.with(timeout: { total: 1, connect: 1 }) }
    assert_match(/connect_timeout: a setting of connections/, error.message)
  end

  def test_what_makes_no_sense_is_refused
    {
      { timeout: {} } => /total is missing/, { timeout: { total: nil, connect: 1 } } => /total is missing/,
      { timeout: { total: 1, idle: 2 } } => /:idle is unknown: there are total, connect/,
      { timeout: { total: 1, nil => 2 } } => /nil is unknown: there are total, connect/,
      { timeout: { total: { total: 1 } } } => /is not a time in seconds/,
      { timeout: Hash.new(1) } => /total is missing/,
      { timeout: { total: 1, connect: "2" } } => /connect_timeout: "2" is not a time/,
      { timeout: { total: 1, connect: 2 }, connect_timeout: 3 } => /connect_timeout is given twice/
    }.each do |settings, words|
      assert_match words, assert_raises(ArgumentError) { Hecaton::Client.new(**settings) }.message
    end
    [{ total: 1 }, { connect: 1 }, { total: 1, foo: 1 }, {}].each do |limits|
      [-> { client.get(url("/r/1"), timeout: limits) }, -> { Hecaton.get(url("/r/1"), timeout: limits) },
       -> { client.batch { |batch| batch.get(url("/r/1"), timeout: limits) } }].each do |call|
        message = assert_raises(ArgumentError, &call).message
        assert_match(/give one number \(a Hash of several limits is for a client/, message)
      end
    end
  end

  def test_the_verbs_of_the_module_have_a_timeout
    assert_nil Hecaton.timeout
    assert_match(/or set Hecaton.timeout/, assert_raises(ArgumentError) { Hecaton.get(url("/r/1")) }.message)
    Hecaton.timeout = 20
    assert_equal 20.0, Hecaton.timeout
    there = url("/r/1")
    responses = [Hecaton.get(there), Hecaton.request(:get, there)]
    responses.push(*Hecaton.get_all([there]), *Hecaton.all([[:get, there]]))
    assert_equal([200] * 4, responses.map(&:status))
    assert_equal 200, Hecaton.request(Hecaton::Request.new(:get, url("/r/1"))).status
    Hecaton.timeout = 0.05
    assert_equal :total, error_of(Hecaton::TimeoutError) { Hecaton.get(url("/delay/5000")) }.phase
    assert_equal 200, Hecaton.get(url("/r/1"), timeout: 20).status, "its own"
    assert_equal 200, Hecaton.request(Hecaton::Request.new(:get, url("/r/1"), timeout: 20)).status, "its own"
    Hecaton.client = client
    assert_equal 200, Hecaton.get(url("/delay/200")).status, "a client has its own"
    assert_raises(ArgumentError) { Hecaton.timeout = "5" }
  ensure
    Hecaton.timeout = Hecaton.client = nil
  end
end
