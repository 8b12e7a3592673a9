# A client of a small service, written for Net::HTTP as its documentation shows it. Its argument is the URL of `hecaton
# serve`.
require "net/http"
require "json"
require "stringio"

BASE = URI(ARGV.fetch(0))

def show(title, value) = puts("#{title}: #{value.inspect}".gsub(BASE.port.to_s, "PORT"))

# The request that the service echoes.
def echoed(response)
  reported = JSON.parse(response.body)
  names = reported["headers"].map { |name, _| name.downcase } - %w[connection content-length]
  [response.code, reported["method"], reported["path"], reported["body"], names.sort]
end

# GET, in three ways.
show "bytes", Net::HTTP.get(BASE + "/bytes/12").bytesize
show "get", Net::HTTP.get(BASE.host, "/bytes/5", BASE.port)
response = Net::HTTP.get_response(BASE + "/headers?x-one=1&set-cookie=a%3D1&set-cookie=b%3D2")
show "response", [response.class, response.code, response.message, response.http_version, response["x-one"]]
show "cookies", response.get_fields("set-cookie")

# Dynamic parameters and POST.
uri = BASE + "/echo"
uri.query = URI.encode_www_form(limit: 10, page: 3)
show "parameters", echoed(Net::HTTP.get_response(uri))
show "form", echoed(Net::HTTP.post_form(BASE + "/echo", "q" => "ruby", "max" => "50"))
show "post", echoed(Net::HTTP.post(BASE + "/echo", { name: "Ada" }.to_json, "Content-Type" => "application/json"))

# One connection for several requests.
Net::HTTP.start(BASE.host, BASE.port, read_timeout: 20) do |http|
  show "started", http.started?
  %w[/status/200 /status/404 /status/503].each do |path|
    reply = http.request(Net::HTTP::Get.new(path))
    case reply
    when Net::HTTPSuccess then show path, :success
    when Net::HTTPClientError then show path, :client_error
    else show path, reply.class
    end
  end

  request = Net::HTTP::Post.new("/echo")
  request.set_form_data({ "from" => "2005-01-01", "to" => "2005-03-31" })
  request["X-Trace"] = "abc"
  request.basic_auth("user", "pass")
  show "request", echoed(http.request(request))

  upload = Net::HTTP::Put.new("/upload", "Content-Type" => "application/octet-stream", "Content-Length" => "100000")
  upload.body_stream = StringIO.new("y" * 100_000)
  show "upload", JSON.parse(http.request(upload).body)

  parts = Net::HTTP::Post.new("/echo")
  fields = [%w[title A], ["file", StringIO.new("content"), { filename: "a.txt" }]]
  parts.set_form(fields, "multipart/form-data", boundary: "xyz")
  show "multipart", echoed(http.request(parts))[3]

  show "head", http.head("/r/1").to_hash.keys.sort - %w[date connection]
  show "delete", echoed(http.delete("/echo"))
  show "patch", echoed(http.patch("/echo", "part", "Content-Type" => "text/plain"))
  show "other", echoed(http.send_request("QUERY", "/echo", "where x", "Content-Type" => "text/plain"))
end

# A large body, piece by piece; and one that is compressed on its way.
size = 0
Net::HTTP.start(BASE.host, BASE.port) do |http|
  http.request(Net::HTTP::Get.new("/bytes/300000")) { |reply| reply.read_body { |piece| size += piece.bytesize } }
  compressed = http.get("/encoded/gzip/5000")
  show "decoded", [compressed.body.bytesize, compressed["content-encoding"]]
end
show "streamed", size

# Redirects are followed by the program.
def fetch(uri, limit = 5)
  raise ArgumentError, "too many redirects" if limit.zero?

  reply = Net::HTTP.get_response(uri)
  reply.is_a?(Net::HTTPRedirection) ? fetch(uri + reply["location"], limit - 1) : reply
end
show "followed", fetch(BASE + "/redirect/302/3").code
begin
  fetch(BASE + "/redirect-loop")
rescue ArgumentError => error
  show "loop", error.message
end

# What goes wrong.
failures = {
  "timeout" => lambda {
    Net::HTTP.start(BASE.host, BASE.port, read_timeout: 0.3, max_retries: 0) { |http| http.get("/fault/stall-head") }
  },
  "closed" => -> { Net::HTTP.post(BASE + "/fault/close", "x", "Content-Type" => "text/plain") },
  "status" => -> { Net::HTTP.get_response(BASE + "/status/403").value },
  "name" => -> { Net::HTTP.get(URI("http://nobody.invalid/")) }
}
failures.each do |name, failing|
  failing.call
rescue StandardError => error
  show name, error.class
end
