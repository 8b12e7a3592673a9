# Redirects: off by default, all listed, and nothing secret goes elsewhere.
require "test_helper"
require "scripted"

class RedirectTest < ServerTest
  HOPS = {
    "/1" => Scripted.response(302, "Location" => "/2?secret=1"),
    "/2?secret=1" => Scripted.response(308, "Location" => "end#x"),
    "/end" => Scripted.response(200, {}, "arrived"), "/round" => Scripted.response(301, "Location" => "round"),
    "/odd" => Scripted.response(302, "Location" => "mailto:secret"),
    "/303" => Scripted.response(303, "Location" => "/end"),
    "/307" => Scripted.response(307, "Location" => "/end")
  }.freeze

  def server(&block) = Scripted.run(HOPS, &block)

  def test_off_by_default
    server do |server|
      response = client.get("#{server.url}/1")
      assert_equal [302, "#{server.url}/1", []], [response.status, response.url, response.redirects]
    end
  end

  def test_followed_when_set_by_client_or_request
    server do |server|
      [client(redirects: 2).get("#{server.url}/1"), client.get("#{server.url}/1", redirects: 2)].each do |response|
        assert_equal [200, "arrived", "#{server.url}/end"], [response.status, response.body, response.url]
        assert_equal [[302, "#{server.url}/1"], [308, "#{server.url}/2?secret=1"]], response.redirects.map(&:to_a)
        assert_equal [302, 308, 200], response.attempts.map(&:status)
        assert_equal "7", response.headers["content-length"]
      end
      assert_equal ["GET /1", "GET /2?secret=1", "GET /end"] * 2, server.requested
      assert_equal 302, client(redirects: 2).get("#{server.url}/1", redirects: 0).status
    end
  end

  # As curl does.
  def test_bytes_that_are_not_utf8_are_encoded
    Scripted.run("/" => Scripted.response(302, "Location" => "/caf\xE9?\xFFé".b),
      "/caf%e9?%ff%c3%a9" => Scripted.response(200)) do |server|
      response = client.get("#{server.url}/", redirects: 1)
      assert_equal [200, "#{server.url}/caf%e9?%ff%c3%a9"], [response.status, response.url]
    end
  end

  def test_true_and_false
    server do |server|
      assert_equal 10, Hecaton::Native::REDIRECTS
      assert_equal 200, client(redirects: true).get("#{server.url}/1").status
      assert_equal 200, client.get("#{server.url}/1", redirects: true).status
      assert_equal 302, client(redirects: true).get("#{server.url}/1", redirects: false).status
      assert_equal [302], client(redirects: false).get_all(["#{server.url}/1"]).map(&:status)
      assert_match(/redirects is "2"/, error_of(ArgumentError) { client(redirects: "2") }.message)
    end
  end

  def test_hosts_that_redirects_may_lead_to
    away = { "/away" => Scripted.response(302, "Location" => "http://localhost:1/?secret=1") }
    Scripted.run(HOPS.merge(away)) do |server|
      client = client(redirects: 2, redirect_hosts: ["*.example.org"])
      assert_equal 200, client.get("#{server.url}/1").status
      error = error_of(Hecaton::RedirectError) { client.get("#{server.url}/away") }
      assert_match(%r{http://localhost:1/, whose host is not among the redirect_hosts}, error.message)
      error = error_of(Hecaton::ConnectError) {
        client(redirects: 2, redirect_hosts: ["localhost"]).get("#{server.url}/away")
      }
      assert_match(/localhost port 1/, error.message)
    end
    assert_match(/redirect_hosts/, assert_raises(ArgumentError) { client(redirect_hosts: ["https://host"]) }.message)
  end

  def test_in_a_batch
    server do |server|
      outcomes = []
      client(redirects: 2).batch do |batch|
        batch.get("#{server.url}/1").on_complete { |outcome| outcomes << outcome }
        batch.get("#{server.url}/1", redirects: 1).on_complete { |outcome| outcomes << outcome }
      end
      good, bad = outcomes.sort_by { |outcome| outcome.success? ? 0 : 1 }
      assert_equal [200, 2], [good.status, good.redirects.size]
      assert_kind_of Hecaton::RedirectError, bad
    end
  end

  def test_what_is_not_followed_is_an_error_without_secrets
    server do |server|
      {
        "/1" => [1, /more redirects than the allowed 1: the last leads to #{server.url}\/end/, 2],
        "/round" => [5, /in a circle/, 1], "/odd" => [5, /scheme "mailto"/, 1]
      }.each do |path, (most, message, attempts)|
        error = error_of(Hecaton::RedirectError) { client.get(server.url + path, redirects: most) }
        assert_match message, error.message
        refute_match(/secret/, error.message + error.url)
        assert_equal [:read, true, attempts], [error.phase, error.sent?, error.attempts.size]
      end
    end
  end

  def test_a_post_becomes_a_get_or_keeps_its_body
    server do |server|
      client = client(redirects: 1)
      client.post("#{server.url}/303", body: "payload")
      client.post("#{server.url}/307", body: "payload")
      _, get, _, post = server.requests
      assert_match(/\AGET .*\r\n\r\n\z/m, get)
      assert_match(/\APOST .*\r\n\r\npayload\z/m, post)
    end
  end

  def test_credentials_stay_at_their_origin
    Scripted.run({ "/" => Scripted.response(302, "Location" => url("/echo")) }) do |server|
      client = client(redirects: 1, bearer: "secret", headers: { "X-Other" => "1" })
      sent = JSON.parse(client.get(server.url, headers: { "Cookie" => "a=b" }).body)["headers"]
        .to_h.transform_keys(&:downcase)
      assert_equal [nil, nil, nil], sent.values_at("authorization", "cookie", "x-other")
      assert_equal real_server.url.delete_prefix("http://"), sent["host"]
    end
  end

  def test_keys_stay_at_their_origin_whatever_their_names
    keys = %w[Ocp-Apim-Subscription-Key X-Functions-Key DD-APPLICATION-KEY X-Access-Key X-Amz-Credential X-Anything]
    Scripted.run({ "/" => Scripted.response(302, "Location" => url("/echo")) }) do |server|
      headers = keys.to_h { |name| [name, "key"] }.merge("Range" => "bytes=0-", "X-Trace" => "1")
      sent =
        JSON.parse(client(redirects: 1, public_headers: ["x-TRACE"]).get(server.url, headers: headers).body)["headers"]
          .to_h.transform_keys(&:downcase)
      assert_equal [nil] * keys.size, sent.values_at(*keys.map(&:downcase))
      assert_equal %w[bytes=0- 1], sent.values_at("range", "x-trace")
    end
  end

  def test_bad_settings_are_refused
    [-1, "3", 1.5].each do |bad|
      assert_match(/redirects is/, error_of(ArgumentError) { client(redirects: bad) }.message)
      assert_match(/redirects is/, error_of(ArgumentError) { client.get(url("/echo"), redirects: bad) }.message)
    end
  end

  def test_the_url_of_a_plain_response
    assert_equal url("/bytes/1?a=b"), client.get(url("/bytes/1?a=b#c")).url
    response = Marshal.load(Marshal.dump(client.get(url("/bytes/1"))))
    assert_equal [url("/bytes/1"), []], [response.url, response.redirects]
    assert_equal [nil, []], [Hecaton::Response.new(status: 200).url, Hecaton::Response.new(status: 200).redirects]
  end
end
