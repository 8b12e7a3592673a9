# A client of an API, written for rest-client as its README shows it. Its argument is the URL of `hecaton serve`.
require "rest-client"
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

# Basic usage.
show "get", RestClient.get("#{BASE}/bytes/10").body
show "params", echoed(RestClient.get("#{BASE}/echo", params: { id: 50, "foo" => "bar baz", list: [1, 2] }))
show "accept", echoed(RestClient.get("#{BASE}/echo", accept: :json))
show "post", echoed(RestClient.post("#{BASE}/echo", { param1: "one", nested: { param2: "two" } }))
show "json", echoed(RestClient.post("#{BASE}/echo", { "x" => 1 }.to_json, { content_type: :json, accept: :json }))
show "put", echoed(RestClient.put("#{BASE}/echo", "raw text", content_type: "text/plain"))
show "patch", echoed(RestClient.patch("#{BASE}/echo", { a: 1 }))
show "delete", echoed(RestClient.delete("#{BASE}/echo"))
show "head", RestClient.head("#{BASE}/r/1").headers.keys.sort - %i[date connection]
show "options", RestClient.options("#{BASE}/echo").code

# The response.
response = RestClient.get("#{BASE}/headers?x-rate-limit=5&content-type=application/json")
show "response",
  [response.code, response.headers[:x_rate_limit], response.headers[:content_type], response.description.class]
show "cookies", RestClient.get("#{BASE}/cookies/set?session=1&other=2").cookies
show "sent cookies", JSON.parse(RestClient.get("#{BASE}/cookies", cookies: { session_id: "1234" }).body)
show "compressed", RestClient.get("#{BASE}/encoded/gzip/800").body.bytesize

# Passing everything by hand.
request = RestClient::Request.new(method: :get, url: "#{BASE}/echo",
  timeout: 10, open_timeout: 5, headers: { params: { foo: "bar" } })
show "executed", echoed(request.execute)
show "raw", RestClient::Request.execute(method: :get, url: "#{BASE}/bytes/50000", raw_response: true).file.size
streamed = 0
RestClient::Request.execute(method: :get, url: "#{BASE}/bytes/50000",
  block_response: ->(reply) { reply.read_body { |piece| streamed += piece.bytesize } })
show "streamed", streamed

# Multipart.
Tempfile.create(["upload", ".txt"]) do |file|
  file.write("the content")
  file.flush
  sent =
    JSON.parse(RestClient.post("#{BASE}/echo",
      { transfer: { path: "/foo" }, upload: { file: File.new(file.path, "rb") } }).body)
  show "multipart", [sent["body"].include?("the content"), sent["body"].include?("transfer[path]")]
end

# A resource.
site = RestClient::Resource.new(BASE, user: "adam", password: "secret", timeout: 10)
show "resource", echoed(site["echo"].get)
show "credentials", RestClient::Resource.new(BASE, user: "u", password: "p")["basic/u/p"].get.code

# Exceptions.
%w[301 304 401 404 422 500 503].each do |status|
  RestClient.post("#{BASE}/status/#{status}", "")
rescue RestClient::ExceptionWithResponse => error
  show status, [error.class, error.response.code, error.message]
end
show "redirected", RestClient.get("#{BASE}/redirect/302/2").code
show "block", RestClient.get("#{BASE}/status/404") { |reply, _request, _result| "handled #{reply.code}" }
{
  "loop" => -> { RestClient.get("#{BASE}/redirect-loop") },
  "timeout" => -> { RestClient::Request.execute(method: :post, url: "#{BASE}/fault/stall-head", read_timeout: 0.3) },
  "broken" => -> { RestClient.post("#{BASE}/fault/close", "x") },
  "refused" => -> { RestClient.get("http://127.0.0.1:1/") }
}.each do |name, failing|
  failing.call
rescue StandardError => error
  show name, [error.class, error.message]
end

# The log.
RestClient.log = log = []
RestClient.get("#{BASE}/bytes/4")
show "log", log.map { |line| line.strip.sub(/ \d+ bytes, .*/, "") }
