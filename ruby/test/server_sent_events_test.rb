# Server-sent events: as the HTML standard's own examples read them, wherever the bytes are cut, and as soon as they are
# whole.
require "test_helper"
require "scripted"

class ServerSentEventsTest < ServerTest
  def parsed(text, size = text.bytesize)
    parser = Hecaton::ServerSentEvents.new(1 << 20)
    events = []
    text.b.scan(/.{1,#{[size, 1].max}}/mn) do |bytes|
      parser.feed(bytes)
      while (event = parser.shift)
        events << event
      end
    end
    events
  end

  def data(text) = parsed(text).map(&:data)

  # HTML, section 9.2.6.
  def test_the_examples_of_the_standard
    assert_equal ["YHOO\n+2\n10"], data("data: YHOO\ndata: +2\ndata: 10\n\n")
    events = parsed(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n")
    assert_equal [["first event", "1"], ["second event", ""]], events.map { |event| [event.data, event.id] }
    assert_equal ["", "\n"], data("data\n\ndata\ndata\n\ndata:")
    assert_equal %w[test test], data("data:test\n\ndata: test\n\n")
  end

  def test_fields
    first, second = parsed("event: add\nid: 7\nretry: 1500\ndata: x\n\nevent: gone\n\ndata: y\n\n")
    assert_equal ["add", "x", "7", 1500], first.to_a
    assert_equal ["message", "y", "7", 1500], second.to_a
    assert_equal [nil, nil], parsed("data: x\n\n").first.to_a.last(2)
    odd =
      parsed("id: 1\nid: 2\0\nretry: 1e3\nretry: \nretry: -1\nRetry: " \
        "5\ndata : no\n data: no\nother: x\nevent:\ndata:a:b\n\n")
    assert_equal [["message", "a:b", "1", nil]], odd.map(&:to_a)
  end

  def test_a_byte_order_mark_may_come_in_two_pieces
    text = "\xEF\xBB\xBF\ndata: x\n\n".b
    1.upto(4) do |cut|
      parser = Hecaton::ServerSentEvents.new(100)
      [text[0, cut], text[cut..]].each { |bytes| parser.feed(bytes) }
      assert_equal "x", parser.shift&.data, "cut at #{cut}"
    end
  end

  def test_what_is_not_utf_8_is_replaced_and_a_byte_order_mark_is_dropped_once
    events = parsed("\xEF\xBB\xBFdata: \xFF\xEF\xBB\xBF\n\n".b)
    assert_equal ["\u{fffd}\u{feff}", Encoding::UTF_8], [events.first.data, events.first.data.encoding]
    assert_equal [], data("\xEF\xBB\xBF\xEF\xBB\xBFdata: x\n\n")
  end

  def test_every_cut_and_every_end_of_a_line_reads_the_same
    random = Random.new(9)
    text = "\u{feff}: c\n\nevent: é\ndata: 1\ndata\n\n\nid: 3\ndata:: x\n\n"
    expected = parsed(text).map(&:to_a)
    assert_equal 2, expected.size
    ["\n", "\r", "\r\n"].each do |ending|
      (1..20).each { |size|
        assert_equal expected, parsed(text.gsub("\n", ending), size).map(&:to_a), [ending, size].inspect
      }
    end
    20.times do
      mixed = text.gsub("\n") { ["\n", "\r", "\r\n"].sample(random: random) }.gsub("\r\n", "\n")
      next if mixed.include?("\r\n")

      assert_equal expected, parsed(mixed, random.rand(1..9)).map(&:to_a), mixed.inspect
    end
  end

  def test_an_event_is_there_at_the_end_of_its_line_even_if_that_is_a_cr
    parser = Hecaton::ServerSentEvents.new(1 << 20)
    parser.feed("data: x\r\r")
    assert_equal "x", parser.shift&.data
    ["\ndata: y\r", "\n", "\r", "\n"].each { |bytes| parser.feed(bytes) }
    assert_equal ["y", nil], [parser.shift&.data, parser.shift]
  end

  # The server sends each String in this queue, one after the other; nil ends the body.
  def server(type = "text/event-stream", status = 200)
    said = Queue.new
    play = lambda do |connection|
      connection.gets("\r\n\r\n")
      connection.write("HTTP/1.1 #{status} X\r\nContent-Type: #{type}\r\nTransfer-Encoding: chunked\r\n\r\n")
      while (text = said.pop)
        connection.write("#{text.bytesize.to_s(16)}\r\n#{text}\r\n")
      end
      connection.write("0\r\n\r\n")
    end
    Peer.run(play) { |peer| yield peer.url("/?secret"), said }
  end

  def test_each_event_is_yielded_before_the_next_is_sent
    server do |address, said|
      said << "data: 1\n\nda"
      seen = []
      client.get(address) do |response|
        assert_same(response, response.each_event do |event|
          seen << event.data
          said << (seen.size < 3 ? "ta: #{seen.size + 1}\n\nda" : nil)
        end)
      end
      assert_equal %w[1 2 3], seen
    end
  end

  def test_it_resumes_where_it_was_left
    server do |address, said|
      said << "data: 1\n\ndata: 2\n\ndata: 3\n\ndata: cut" << nil
      seen = client.get(address) { |response| [response.each_event.first, *response.each_event] }
      assert_equal %w[1 2 3], seen.map(&:data)
    end
  end

  def test_what_is_no_stream_of_events_is_an_error
    server("text/html; a=b") do |address, _|
      error = error_of(Hecaton::BodyError) { client.get(address) { |response| response.each_event { flunk } } }
      assert_match(/\Athe Content-Type is text\/html: events need text\/event-stream \(http:[^?]*\)\z/, error.message)
    end
    server("text/event-stream", 503) do |address, _|
      assert_equal 503,
        error_of(Hecaton::StatusError) { client.get(address) { |response| response.each_event { flunk } } }.status
    end
    assert_equal [], client.get(url("/status/204")) { |response| response.each_event.to_a }
  end

  def test_an_event_has_a_limit_and_the_request_its_deadline
    server do |address, said|
      said << "data: #{"x" * 900}\n" << "data: #{"x" * 900}\n\n" << nil
      error = error_of(Hecaton::BodyError) {
        client(max_body: 1000).get(address) { |response| response.each_event { flunk } }
      }
      assert_match(/an event is longer than max_body, 1000 bytes/, error.message)
    end
    with_growing(0.3) do |limit|
      seen = []
      server do |address, said|
        said << "data: 1\n\n"
        assert_raises(Hecaton::TimeoutError) {
          client(timeout: limit).get(address) { |response| response.each_event { |event| seen << event.data } }
        }
      end
      seen == %w[1]
    end
  end
end
