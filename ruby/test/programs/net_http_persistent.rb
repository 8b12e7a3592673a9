# A crawler's fetcher, written for net-http-persistent as its documentation shows it. Its argument is the URL of
# `hecaton serve`.
require "net/http/persistent"
require "json"
require "uri"

BASE = URI(ARGV.fetch(0))

def show(title, value) = puts("#{title}: #{value.inspect}".gsub(BASE.port.to_s, "PORT"))

def echoed(response)
  reported = JSON.parse(response.body)
  names = reported["headers"].map { |name, _| name.downcase } - ["content-length"]
  [response.code, reported["method"], reported["path"], reported["body"], names.sort]
end

http = Net::HTTP::Persistent.new(name: "my_app_name", pool_size: 10)
http.open_timeout = 5
http.read_timeout = 10
http.idle_timeout = 10
http.headers["X-Client"] = "fetcher"
http.override_headers["User-Agent"] = "fetcher/1.0"

# GET, by a URI and by a request.
show "get", http.request(BASE + "/bytes/20").body.bytesize
show "string", http.request("#{BASE}/bytes/21").body.bytesize
get = Net::HTTP::Get.new("/echo?a=b")
get["Accept"] = "application/json"
show "request", echoed(http.request(BASE, get))

# POST needs its URI too.
post_uri = BASE + "/echo"
post = Net::HTTP::Post.new(post_uri.path)
post.set_form_data("some" => "cool data")
show "post", echoed(http.request(post_uri, post))
put = Net::HTTP::Put.new(post_uri.path, "Content-Type" => "application/json")
put.body = JSON.generate(name: "Ada")
show "put", echoed(http.request(post_uri, put))

# One object for all threads.
results = Array.new(5) do |thread|
  Thread.new { Array.new(10) { |index| http.request(BASE + "/r/#{thread * 10 + index}").code } }
end
show "threads", results.flat_map(&:value).tally

# A block gets the response before its body.
size = 0
response = http.request(BASE + "/bytes/200000") { |reply| reply.read_body { |piece| size += piece.bytesize } }
show "streamed", [response.class, size]
show "decoded", http.request(BASE + "/encoded/gzip/4000").body.bytesize
show "version", http.http_version(BASE)

# Statuses are responses.
%w[/status/201 /status/301 /status/404 /status/500].each do |path|
  reply = http.request(BASE + path)
  kind = reply.class.ancestors.find { |klass| klass.name.end_with?("Success", "Redirection", "Error") }
  show path, [reply.code, kind]
end

# The connection, with what a Net::HTTP can do.
http.connection_for(BASE) { |connection| show "connection", connection.http.get("/bytes/3").body }

# A redirect, by hand.
def follow(http, uri, left = 5)
  reply = http.request(uri)
  return [reply.code, uri.path] unless reply.is_a?(Net::HTTPRedirection) && left.positive?

  follow(http, uri + reply["location"], left - 1)
end
show "followed", follow(http, BASE + "/redirect/302/2")

# A server that is not there.
begin
  http.request("http://127.0.0.1:1/")
rescue Net::HTTP::Persistent::Error => error
  show "refused", error.message.sub(/:\d+\z/, "")
end

# Settings may change; then connections are new ones.
http.reconnect
show "after reconnect", http.request(BASE + "/bytes/2").body
http.shutdown
