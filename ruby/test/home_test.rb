# Where the headers of a client go: with a base_url to its origin, by redirects to nobody else, but for public ones.
require "test_helper"
require "scripted"

class HomeTest < ServerTest
  OWN = { headers: { "X-Api-Key" => "1", "X-Any" => "2", x_tenant: "t", "Accept-Language" => "de" },
          public_headers: [:x_tenant], app_name: "billing", bearer: "token" }.freeze

  def own(fields) = (fields.map { |name, _| name.downcase } & ALL).sort
  def requested(client, url, **options) = own(JSON.parse(client.get(url, **options).body)["headers"])
  def elsewhere = real_server.url.sub("127.0.0.1", "localhost")

  ALL = %w[accept-language authorization user-agent x-any x-api-key x-app-name x-tenant].freeze
  PUBLIC = %w[accept-language user-agent x-tenant].freeze

  def test_headers_of_a_client_with_a_base_stay_there
    client = client(base_url: url("/"), **OWN)
    ["/echo", url("/echo"), real_server.url.sub("http", "HTTP") + "/echo"].each { |home|
      assert_equal ALL, requested(client, home), home
    }
    ["#{elsewhere}/echo", "//#{elsewhere.delete_prefix("http://")}/echo"].each { |away|
      assert_equal PUBLIC, requested(client, away), away
    }
    outcomes = client.get_all(["#{elsewhere}/echo", "/echo"])
    assert_equal [PUBLIC, ALL], outcomes.map { |outcome| own(JSON.parse(outcome.body)["headers"]) }
    assert_equal ALL - ["x-app-name"],
      requested(client, "#{elsewhere}/echo", headers: { "X-Api-Key" => "own", "X-Any" => "own" }, bearer: "own")
  end

  def test_without_a_base_they_go_wherever_the_program_sends_them
    assert_equal ALL, requested(client(**OWN), "#{elsewhere}/echo")
  end

  def test_redirects_to_another_origin_take_along_what_is_public_alone
    Scripted.run("/there" => Scripted.response(302, "Location" => "#{elsewhere}/echo"),
      "/here" => Scripted.response(302, "Location" => "/end"), "/end" => Scripted.response(200)) do |server|
      [client(redirects: 1, **OWN), client(redirects: 1, base_url: server.url, **OWN)].each do |client|
        sent = { headers: { "X-Own" => "1", "Range" => "bytes=0-", "X-Any" => "instead of the client's" } }
        fields = JSON.parse(client.get("#{server.url}/there", **sent).body)["headers"].to_h.transform_keys(&:downcase)
        assert_equal PUBLIC, own(fields)
        assert_equal [nil, "bytes=0-"], fields.values_at("x-own", "range")
        client.get("#{server.url}/here", **sent)
        last = server.requests.last
        assert_empty(%w[x-api-key x-any x-app-name authorization x-own].reject { |name|
          last.downcase.include?("#{name}: ")
        })
      end
    end
  end

  def test_credentials_are_never_public
    %w[Authorization cookie Proxy-Authorization].each do |name|
      assert_match(/never public/, error_of(ArgumentError) { client(public_headers: [name]) }.message)
    end
    assert_match(/public_headers is of class String: give an Array/,
      error_of(ArgumentError) { client(public_headers: "x") }.message)
  end
end
