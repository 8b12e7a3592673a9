# Header fields come out of a record in one call, and a record that is none is refused.
require "test_helper"

class FieldsTest < Minitest::Test
  MANY = (1..40).flat_map { |index| ["x-#{index}", "value: #{index}"] }.freeze
  ATTEMPT = "a".b * 88
  FACTS = "f".b * 7

  # As ext/hecaton/src/record.rs writes it.
  def record(fields, trailers: [], attempts: 1, redirects: ["http://127.0.0.1/a"])
    blocks = [fields, trailers].map { |list| list.each_slice(2).map { |name, value| "#{name}: #{value}\r\n" }.join.b }
    way = "GET http://127.0.0.1/b".b
    reported = redirects.map { |url| [302, url.bytesize].pack("L<L<") + url.b }
    numbers = [1, attempts, redirects.size, blocks[1].bytesize, FACTS.bytesize * attempts].pack("Q<L<4")
    [numbers, ATTEMPT * attempts, FACTS * attempts, [way.bytesize].pack("L<"), way, *reported, *blocks].join
  end

  def fields(record, trailers = false) = Hecaton::Native.fields(record, trailers)

  def test_names_and_values_in_order
    [[], %w[a 1], ["a", ""], ["a", "b: c"], MANY].each do |list|
      assert_equal list, fields(record(list))
      assert_equal list, fields(record(["other", "x"], trailers: list, attempts: 3, redirects: []), true)
    end
    assert_equal [[Encoding::UTF_8, false]], fields(record(MANY)).map { |text| [text.encoding, text.frozen?] }.uniq
  end

  def test_a_hash_of_lists_as_bytes
    into = { "a" => ["0"] }
    reported = Hecaton::Native.add_fields(record(["b", "1", "a", "2", "b", "caf\xE9"]), into)
    assert_same into, reported
    assert_equal({ "a" => %w[0 2], "b" => ["1", "caf\xE9".b] }, reported)
    assert_equal [Encoding::BINARY], reported["b"].map(&:encoding).uniq
    assert_equal MANY.each_slice(2).to_h { |name, value| [name, [value]] }, Hecaton::Native.add_fields(record(MANY), {})
  end

  # A Response may have been marshalled by anybody.
  def test_what_is_no_record_is_refused
    whole = record(%w[a 1 b 2], trailers: %w[c 3])
    head = whole.bytesize - "a: 1\r\nb: 2\r\nc: 3\r\n".bytesize
    (0...head).each do |size|
      assert_raises(ArgumentError) { fields(whole.byteslice(0, size)) }
      assert_raises(ArgumentError) { Hecaton::Native.add_fields(whole.byteslice(0, size), {}) }
    end
    [8, 12, 16].each do |at|
      broken = whole.dup
      broken[at, 4] = "\xFF".b * 4
      assert_raises(ArgumentError) { fields(broken) }
    end
  end

  def test_lines_that_are_none_end_the_list
    broken = record([]) + "a: 1\r\nb\r\nc: 3\r\n".b
    assert_equal %w[a 1], fields(broken)
    ["a: 1", "a: 1\r", "a:\r", "\r\n"].each { |line| assert_operator fields(record([]) + line.b).size, :<=, 2 }
  end

  def test_any_bytes_end_in_a_list_or_an_argument_error
    random = Random.new(1)
    2000.times do
      whole = record(MANY.first(8), trailers: %w[c 3])
      3.times { whole.setbyte(random.rand(whole.bytesize), random.rand(256)) }
      begin
        assert_kind_of Array, fields(whole)
        assert_kind_of Hash, Hecaton::Native.add_fields(whole, {})
      rescue ArgumentError => error
        assert_equal "this is no record of a response", error.message
      end
    end
  end
end
