# Headers that Hecaton generates: who wins, as the table in docs/settings.md says.
require "test_helper"
require "scripted"

class GeneratedHeadersTest < Minitest::Test
  # Header → who may say it, the winner first; for each, how it is said, and what is sent then.
  #
  # `client:` and `request:` are options, and `user:` is a user and a password in the URL.
  OF_CLIENT = ->(name, value) { { client: { headers: { name => value } } } }
  OF_REQUEST = ->(name, value) { { request: { headers: { name => value } } } }
  # The request's header and the client's, which win for most headers.
  OWN = ->(name) { [[OF_REQUEST[name, "own"], "own"], [OF_CLIENT[name, "client"], "client"]] }
  ORDER = {
    "Host" => [*OWN["Host"], [{}, /\A127/]],
    "User-Agent" => [
      *OWN["User-Agent"], [{ client: { user_agent: "setting" } }, "setting"],
      [{ client: { app_name: "name" } }, "name"], [{}, /\Ahecaton/]
    ],
    "Accept" => [*OWN["Accept"], [{}, "*/*"]],
    "Accept-Encoding" => [*OWN["Accept-Encoding"], [{ client: { decode: false } }, nil],
                          [{}, "gzip, deflate, br, zstd"]],
    "Authorization" => [
      [OF_REQUEST["Authorization", "own"], "own"], [{ request: { bearer: "b" } }, "Bearer b"],
      [{ user: "u:p@" }, "Basic dTpw"],
      [OF_CLIENT["Authorization", "client"], "client"], [{ client: { basic_auth: %w[c p] } }, "Basic Yzpw"], [{}, nil]
    ],
    "Cookie" => [*OWN["Cookie"], [{ jar: true }, "j=1"], [{}, nil]],
    "Content-Length" => [[{ request: { body: "abc" } }, "3"], [{}, "0"]],
    "Content-Type" => [
      [OF_REQUEST["Content-Type", "a/r"], "a/r"], [{ request: { json: 1 } }, "application/json"],
      [OF_CLIENT["Content-Type", "multipart/mixed"], "multipart/mixed"], [{}, nil]
    ]
  }.freeze

  # Content, the request's header and the client's header → what is sent; B stands for "; boundary=…".
  JSON_TYPE, FORM_TYPE, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
  TYPES = [
    [:json, nil, nil, JSON_TYPE], [:json, "a/b", JSON_TYPE, "a/b"], [:json, nil, FORM_TYPE, JSON_TYPE],
    [:json, nil, "application/vnd.api+json", "application/vnd.api+json"],
    [:json, nil, "text/json; charset=utf-8", "text/json; charset=utf-8"],
    [:json, nil, "application/x-amz-json-1.1", "application/x-amz-json-1.1"], [:json, nil, MULTIPART, JSON_TYPE],
    [:form, nil, nil, FORM_TYPE], [:form, nil, JSON_TYPE, FORM_TYPE], [:form, FORM_TYPE, nil, FORM_TYPE],
    [:form, nil, "#{FORM_TYPE}; charset=utf-8", "#{FORM_TYPE}; charset=utf-8"],
    [:form, nil, MULTIPART, FORM_TYPE],
    [:multipart, nil, nil, "#{MULTIPART}B"], [:multipart, MULTIPART, nil, "#{MULTIPART}B"],
    [:multipart, nil, JSON_TYPE, "#{MULTIPART}B"],
    [:multipart, nil, MULTIPART, "#{MULTIPART}B"], [:multipart, "Multipart/Mixed", JSON_TYPE, "Multipart/MixedB"],
    [:multipart, "#{MULTIPART}; boundary=mine; charset=utf-8", nil, "#{MULTIPART}; charset=utf-8B"],
    [:multipart, "#{MULTIPART};boundary=\"a;b\"", nil, "#{MULTIPART}B"], [:multipart, "a/b", nil, "a/bB"]
  ].freeze

  CONTENT = { json: { json: { a: 1 } }, form: { form: { a: 1 } }, multipart: { multipart: { a: "1" } } }.freeze

  ORDER.each do |header, says|
    says.combination(2) do |(winner, expected), (loser, _)|
      define_method("test_#{header}_#{expected.inspect}_beside_#{loser}") do
        sent = sent_with(winner, loser)
        values = field(sent, header)
        expected.is_a?(Regexp) ? assert_match(expected, values.join) : assert_equal([expected].compact, values)
      end
    end
  end

  TYPES.each do |content, own, clients, expected|
    define_method("test_#{content}_beside_#{own.inspect}_and_#{clients.inspect}_of_the_client") do
      headers = ->(type) { type ? { headers: { "content-type" => type } } : {} }
      sent = sent_with({ client: headers[clients] }, { request: { **headers[own], **CONTENT[content] } })
      boundary = sent[/^--(\h{32})\r$/, 1]
      assert_equal [expected.sub("B", "; boundary=#{boundary}")], field(sent, "Content-Type")
    end
  end

  def test_an_empty_accept_or_user_agent_is_none
    %w[Accept User-Agent].each do |name|
      [OF_REQUEST, OF_CLIENT].each { |of| assert_empty field(sent_with(of[name, ""], {}), name) }
      assert_equal ["own"], field(sent_with(OF_REQUEST[name, "own"], OF_CLIENT[name, ""]), name)
    end
  end

  def test_nil_leaves_the_type_of_the_client_out
    sent = sent_with({ client: { headers: { "Content-Type" => "application/vnd.api+json" } } },
      { request: { json: 1, headers: { "Content-Type" => nil } } })
    assert_equal ["application/json"], field(sent, "Content-Type")
  end

  private

  # The request as it was sent.
  def sent_with(*says)
    options = %i[client request].to_h { |who|
      [who, says.map { |each|
              each[who] || {}
            }.reduce { |*pair| joined(*pair) }]
    }
    Scripted.run("/" => Scripted.response(200)) do |server|
      options[:client][:cookies] = jar(server.url) if says.any? { |each| each[:jar] }
      url = "#{server.url.sub("://", "://#{says.filter_map { |each| each[:user] }.first}")}/"
      Hecaton::Client.new(timeout: 20, **options[:client]).post(url, **options[:request])
      server.requests.first
    end
  end

  def jar(url) = Hecaton::Cookies.new.tap { |jar| jar.set("j=1", url) }

  def joined(one, other) = one.merge(other) { |_, first, second| first.is_a?(Hash) ? first.merge(second) : first }

  def field(sent, name) = sent[/\A.*?\r\n\r\n/m].scan(/^#{name}: (.*?)\r$/i).flatten
end
