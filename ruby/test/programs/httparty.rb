# Clients of an API, written for HTTParty as its README and examples show them. Its argument is the URL of `hecaton
# serve`.
require "httparty"
require "json"
require "tempfile"

BASE = ARGV.fetch(0)
PORT = BASE[/\d+\z/]

def show(title, value) = puts("#{title}: #{value.inspect}".gsub(PORT, "PORT"))

def echoed(response)
  reported = JSON.parse(response.body)
  names = reported["headers"].map { |name, _| name.downcase } - %w[connection content-length]
  [response.code, reported["method"], reported["path"], reported["body"], names.sort]
end

# Use the class methods to get down to business quickly.
response = HTTParty.get("#{BASE}/headers?x-id=7")
show "facts", [response.code, response.message, response.headers["x-id"], response.body.class]
show "query", echoed(HTTParty.get("#{BASE}/echo", query: { limit: 5, tags: %w[a b] }))
show "form", echoed(HTTParty.post("#{BASE}/echo", body: { name: "Ada", nested: { b: 2 } }))
json = { body: { name: "Ada" }.to_json, headers: { "Content-Type" => "application/json" } }
show "json", echoed(HTTParty.post("#{BASE}/echo", **json))
show "put", echoed(HTTParty.put("#{BASE}/echo", body: "text"))
show "patch", echoed(HTTParty.patch("#{BASE}/echo", body: { a: 1 }))
show "delete", echoed(HTTParty.delete("#{BASE}/echo"))
show "head", HTTParty.head("#{BASE}/r/1").headers.keys.sort - %w[date connection]
show "options", HTTParty.options("#{BASE}/echo").code

# Or wrap things up in a class of your own.
class Service
  include HTTParty
  base_uri ARGV.fetch(0)
  headers "X-Api-Version" => "2"
  default_params key: "abc"
  default_timeout 10
  format :json

  def initialize(user, password) = @auth = { username: user, password: password }

  def page(number) = self.class.get("/echo", query: { page: number }, basic_auth: @auth)

  def create(name) = self.class.post("/echo", body: { user: { name: name } }, basic_auth: @auth)
end

service = Service.new("user", "secret")
show "class", echoed(service.page(2))
show "parsed", service.create("Grace").parsed_response.slice("method", "path", "body")

# Parsers, by the content type and by hand.
class Lines
  include HTTParty
  parser ->(body, _format) { body.bytes.sum }
end
show "own parser", Lines.get("#{BASE}/bytes/30").parsed_response
show "plain", HTTParty.get("#{BASE}/echo", format: :plain).parsed_response.class
show "compressed", HTTParty.get("#{BASE}/encoded/gzip/600").body.bytesize

# Redirects, statuses, cookies, credentials.
show "followed", HTTParty.get("#{BASE}/redirect/302/2").request.last_uri.path
show "not followed", HTTParty.get("#{BASE}/redirect/302/2", follow_redirects: false).code
[201, 404, 422, 500].each do |status|
  reply = HTTParty.get("#{BASE}/status/#{status}")
  show status, [reply.success?, reply.client_error?, reply.server_error?, reply.message]
end
show "set-cookie", HTTParty.get("#{BASE}/cookies/set?a=1&b=2").headers.get_fields("set-cookie").size
show "cookies", JSON.parse(HTTParty.get("#{BASE}/cookies", cookies: { session: "1" }).body)
show "credentials", HTTParty.get("#{BASE}/basic/u/p", basic_auth: { username: "u", password: "p" }).code

# Streams and files.
size = 0
HTTParty.get("#{BASE}/bytes/100000", stream_body: true) { |piece| size += piece.bytesize }
show "streamed", size
Tempfile.create(["upload", ".txt"]) do |file|
  file.write("the content")
  file.flush
  reply = HTTParty.post("#{BASE}/echo", body: { name: "x", file: File.open(file.path) })
  sent = JSON.parse(reply.body)
  show "multipart", sent["body"].include?("the content")
end

# What goes wrong.
{
  "loop" => -> { HTTParty.get("#{BASE}/redirect-loop") },
  "timeout" => -> { HTTParty.post("#{BASE}/fault/stall-head", read_timeout: 0.3) },
  "broken" => -> { HTTParty.post("#{BASE}/fault/close", body: "x") },
  "refused" => -> { HTTParty.get("http://127.0.0.1:1/") },
  "scheme" => -> { HTTParty.get("ftp://127.0.0.1/") }
}.each do |name, failing|
  failing.call
rescue StandardError => error
  show name, error.class
end
