# Facts of a response about its status and its deprecation: raise_for_status, Sunset, Deprecation and their links.
require "test_helper"
require "scripted"

class AnyResponseTest < ServerTest
  WHEN = "Sat, 31 Dec 2089 23:59:59 GMT"
  RESPONSES = {
    "/plain" => Scripted.response(200, "X-Other" => "sunset: deprecation: "),
    "/sunset" => Scripted.response(200, "Sunset" => WHEN, "Link" => '</end>; rel="sunset"; title="a, \"b\""'),
    "/both?secret=1" => Scripted.response(404, "Deprecation" => "@1688169599", "Sunset" => WHEN),
    "/moved" => Scripted.response(302, "Location" => "/sunset", "Deprecation" => "true")
  }.freeze

  def server(&block) = Scripted.run(RESPONSES, &block)
  def reply(headers) = Hecaton::Response.new(status: 200, headers: headers, url: "http://host/a/b?c")

  def test_sunset
    ["Sat, 31 Dec 2022 23:59:59 GMT", "Saturday, 31-Dec-22 23:59:59 GMT", "Sat Dec 31 23:59:59 2022"].each do |date|
      assert_equal Time.utc(2022, 12, 31, 23, 59, 59), reply("Sunset" => date).sunset, date
    end
    ["", "soon", "2022-12-31", "@1688169599", "Sat, 99 Dec 2022 23:59:59 GMT"].each do |bad|
      assert_nil reply("Sunset" => bad).sunset, bad
    end
    assert_nil reply({}).sunset
  end

  def test_deprecation
    expected = {
      "@1688169599" => Time.utc(2023, 6, 30, 23, 59, 59), "@-1" => Time.at(-1), " @0;a=b" => Time.at(0),
      "true" => true, "?1" => true, WHEN => Time.utc(2089, 12, 31, 23, 59, 59),
      "false" => nil, "?0" => nil, "1688169599" => nil, "@" => nil, "@1e3" => nil, "@#{"9" * 16}" => nil, "" => nil
    }
    expected.each do |text, value|
      reply = reply("Deprecation" => text)
      assert_equal [value], [reply.deprecation], text # In arrays, because assert_equal takes no nil.
      assert_equal !value.nil?, reply.deprecated?
    end
  end

  def test_links
    assert_equal "http://host/a/why", reply("Link" => "<why>;rel=sunset").sunset_link
    several = ['<a,b;c>; title="x, <y>; rel=sunset"; rel="next"', "<https://x>; REL=\"Foo Sunset\""]
    assert_equal "https://x/", reply("Link" => several).sunset_link
    both = reply("Link" => '<1>; rel="deprecation sunset", <2>; rel=sunset')
    assert_equal %w[http://host/a/1 http://host/a/1], [both.sunset_link, both.deprecation_link]
    [
      "<a>; rel=sunsets", "<a>; rel=next; rel=sunset", "<a>; anchor=\"#x\"; rel=sunset", "a; rel=sunset", "<a",
      "<a>; rel=\"sunset", "<a>; x <b>; rel=sunset", "<\0>; rel=sunset"
    ].each { |text| assert_nil reply("Link" => text).sunset_link, text }
  end

  def test_links_come_back_as_they_were_written
    random = Random.new(8288)
    100.times do
      links = Array.new(random.rand(1..5)) do
        value = -> { Array.new(random.rand(0..8)) { '<>;,="\\ aé'.chars.sample(random: random) }.join }
        ["http://h/#{random.rand(99)};,", Array.new(random.rand(0..3)) { |number| ["p#{number}", value.()] }.to_h]
      end
      quoted = ->(value) { "\"#{value.gsub(/["\\]/) { "\\#{_1}" }}\"" }
      text = links.map { |target, parameters|
        "<#{target}>#{parameters.map { |name, value| " ; #{name}=#{quoted.(value)}" }.join}"
      }
      assert_equal links, Hecaton::Deprecation.links(text.join(" , "))
    end
  end

  def test_hostile_fields_are_read_in_no_time_and_without_exceptions
    random = Random.new(9745)
    200.times do
      text = Array.new(random.rand(60)) { '<>;,="\\ @1-relsunset'.chars.sample(random: random) }.join
      response = reply("Link" => text, "Sunset" => text, "Deprecation" => text)
      response.sunset_link
      response.deprecated?
    end
    started = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    ["<" * 100_000, "<a>; rel=\"" * 10_000, "<a>;" * 25_000, "<a>,\"" * 20_000, "\\" * 100_000].each do |text|
      Hecaton::Deprecation.link(text, "sunset")
    end
    # In a time that grows with the square, one of them takes minutes.
    assert_operator Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - started, :<, 30
  end

  def test_on_deprecation_is_called_once_for_each_response_that_says_so
    server do |server|
      reported = []
      client = client(redirects: 1, on_deprecation: ->(response) { reported << response })
      assert_equal 200, client.get("#{server.url}/plain").status
      assert_empty reported
      response = client.get("#{server.url}/sunset")
      assert_same response, reported.pop
      assert_equal [Time.utc(2089, 12, 31, 23, 59, 59), "#{server.url}/end"], [response.sunset, response.sunset_link]
      client.get("#{server.url}/moved")
      assert_equal ["#{server.url}/sunset"], reported.map(&:url)
      client.batch { |batch|
        3.times { batch.get("#{server.url}/both?secret=1").on_complete { reported << :callback } }
      }
      assert_equal [404, :callback] * 3, reported.drop(1).map { |each| each.is_a?(Symbol) ? each : each.status }
      assert_equal 7, client.get("#{server.url}/sunset") { reported.size - 1 }
      assert_kind_of Hecaton::Stream, reported.last
    end
  end

  def test_an_exception_of_on_deprecation_goes_where_one_of_a_callback_would
    server do |server|
      client = client(on_deprecation: ->(response) { raise IndexError, response.url })
      assert_raises(IndexError) { client.get("#{server.url}/sunset") }
      request = nil
      assert_raises(IndexError) { client.batch { |batch| request = batch.get("#{server.url}/sunset") } }
      assert_equal 200, request.outcome.status
    end
    assert_match(/on_deprecation is of class String/, error_of(ArgumentError) { client(on_deprecation: "x") }.message)
  end

  def test_a_status_is_an_error_when_that_is_set
    server do |server|
      missing = "#{server.url}/both?secret=1"
      assert_equal 404, client.get(missing).status
      errors = [
        error_of(Hecaton::StatusError) { client.get(missing, raise_for_status: true) },
        error_of(Hecaton::StatusError) { client(raise_for_status: true).get(missing) },
        error_of(Hecaton::StatusError) { client.get(missing).raise_for_status },
        error_of(Hecaton::StatusError) { client.get(missing, raise_for_status: true) { flunk } },
        error_of(Hecaton::StatusError) { client.get(missing, &:raise_for_status) }
      ]
      errors.each do |error|
        assert_equal [404, 404, "#{server.url}/both", true, :read],
          [error.status, error.response.status, error.url, error.sent?, error.phase]
        assert_equal "the response has the status 404 (GET #{server.url}/both)", error.message
        assert_equal [[404], false, error], [error.attempts.map(&:status), error.success?, error.error]
      end
      assert_equal 404, client(raise_for_status: true).get(missing, raise_for_status: false).status
    end
  end

  def test_a_status_is_an_error_in_a_batch_too
    outcomes = []
    client(raise_for_status: true).batch do |batch|
      batch.get(url("/status/500")).on_complete { |outcome| outcomes << outcome }
      batch.get(url("/status/500"), raise_for_status: false).on_complete { |outcome| outcomes << outcome }
    end
    error, response = outcomes.sort_by { |outcome| outcome.error ? 0 : 1 }
    assert_equal [Hecaton::StatusError, 500, 500], [error.class, error.status, response.status]
    assert_same error, assert_raises(Hecaton::StatusError) { error.raise_for_status }
  end

  # A server may have redirected there.
  def test_messages_are_short_however_long_the_url_is
    path = "/#{"a" * 20_000}"
    Scripted.run(path => Scripted.response(404, { "Content-Type" => "text/#{"x" * 5_000}" }, "no")) do |server|
      response = client.get("#{server.url}#{path}")
      [error_of(Hecaton::StatusError) { response.raise_for_status }, error_of(Hecaton::JSONError) { response.json }]
        .each do |error|
        assert_operator error.message.size, :<, 1_000
        assert_equal "#{server.url}#{path}", error.url
      end
    end
  end

  def test_a_status_error_has_method_url_and_the_beginning_of_the_body
    long = "Not\n\t here: é #{"x" * 500}"
    replies = { "/long?secret=1" => Scripted.response(404, {}, long), "/long" => Scripted.response(404, {}, long),
                "/png" => Scripted.response(500, { "Content-Type" => "image/png" }, "\x89PNG\0\0"),
                "/latin" => Scripted.response(500, { "Content-Type" => "text/plain; charset=iso-8859-1" }, "caf\xE9".b),
                "/see" => Scripted.response(303, "Location" => "/long") }
    Scripted.run(replies) do |server|
      error = error_of(Hecaton::StatusError) { client.post("#{server.url}/long?secret=1", body: "x").raise_for_status }
      assert_equal ["POST", "#{server.url}/long", 200], [error.http_method, error.url, error.excerpt.size]
      assert_equal "the response has the status 404 (POST #{server.url}/long): Not here: é #{"x" * 188}", error.message
      strict = { raise_for_status: true }
      client.batch { |batch|
        batch.delete("#{server.url}/long", **strict).on_complete { |failed| assert_equal "DELETE", failed.http_method }
      }
      assert_equal "GET",
        error_of(Hecaton::StatusError) { client(redirects: 1).post("#{server.url}/see", **strict) }.http_method
      assert_equal "PUT",
        error_of(Hecaton::StatusError) { client.put("#{server.url}/long", **strict) { flunk } }.http_method
      assert_equal ["", "café"], %w[/png /latin].map { |path|
        error_of(Hecaton::StatusError) { client.get("#{server.url}#{path}", **strict) }.excerpt
      }
    end
    by_hand = Hecaton::Response.new(status: 404, body: "gone", http_method: "GET")
    assert_equal "the response has the status 404 (GET): gone",
      error_of(Hecaton::StatusError) { by_hand.raise_for_status }.message
    odd = Encoding.list.map { |encoding| "ab".dup.force_encoding(encoding) }
    odd.each { |body| assert_kind_of String, Hecaton::StatusError.excerpt(body) }
  end

  def test_what_is_no_error
    [200, 204, 302, 304, 399].each { |status|
      assert_equal status, Hecaton::Response.new(status: status).raise_for_status.status
    }
    [400, 499, 500, 999].each { |status|
      assert_raises(Hecaton::StatusError) { Hecaton::Response.new(status: status).raise_for_status }
    }
  end
end
