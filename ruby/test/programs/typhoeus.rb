# A program as Typhoeus' README has it: single requests, a hydra, callbacks, streams, stubs, a cache. Its argument is a
# URL.
require "typhoeus"
require "json"
require "tempfile"

BASE = ARGV.fetch(0)
Typhoeus::Config.user_agent = "crawler/1.0"

# Keeps responses in memory, as the README's own example of a cache.
class Cache
  def initialize = @memory = {}
  def get(request) = @memory[request]
  def set(request, response) = @memory[request] = response
end

def show(title, *values) = puts("#{title}: #{values.map(&:inspect).join(" ")}")

def single_requests
  response = Typhoeus.get("#{BASE}/echo", params: { page: 2, tags: %w[ruby http] },
    headers: { "Accept" => "text/html" }, timeout: 10)
  show("get", response.code, response.success?, response.headers["Content-Type"], JSON.parse(response.body)["path"])
  response = Typhoeus.post("#{BASE}/echo", body: { title: "test post", content: "this is my test" }, timeout: 10)
  show("post", response.code, JSON.parse(response.body)["body"])
  response = Typhoeus.put("#{BASE}/echo", body: { title: "a", done: true }, timeout: 10)
  show("put", JSON.parse(response.body).values_at("method", "body"))
  show("delete", Typhoeus.delete("#{BASE}/echo", timeout: 10).code)
  show("head", Typhoeus.head("#{BASE}/r/1", timeout: 10).then { |reply|
    [reply.code, reply.body, reply.headers["content-length"]]
  })
  response = Typhoeus::Request.new("#{BASE}/echo", method: :patch,
    userpwd: "user:password", body: "raw", timeout: 10).run
  show("patch",
    JSON.parse(response.body)["headers"].to_h.transform_keys(&:downcase).values_at("authorization", "user-agent"))
end

def errors
  { "fine" => "/r/1", "missing" => "/status/404", "slow" => "/delay/5000", "broken" => "/fault/close" }
    .each do |title, path|
    request = Typhoeus::Request.new("#{BASE}#{path}", timeout_ms: 500)
    request.on_complete do |response|
      if response.success?
        show(title, "all is well")
      elsif response.timed_out?
        show(title, "got a time out", response.code)
      elsif response.code.zero?
        show(title, response.return_code, response.return_message)
      else
        show(title, "HTTP request failed: #{response.code} #{response.status_message}")
      end
    end
    request.run
  end
end

def upload_and_stream
  file = Tempfile.new("upload")
  file.write("line\n" * 3)
  file.close
  response = Typhoeus.post("#{BASE}/echo", body: { title: "a file", file: File.open(file.path, "r") }, timeout: 10)
  show("upload", JSON.parse(response.body)["body"].scan("line").size)

  size = 0
  request = Typhoeus::Request.new("#{BASE}/bytes/300000", timeout: 10)
  request.on_headers { |reply| raise "Request failed" unless reply.code == 200 }
  request.on_body { |chunk| size += chunk.bytesize }
  request.on_complete { |reply| show("stream", size, reply.body, reply.return_code) }
  request.run
  request = Typhoeus::Request.new("#{BASE}/bytes/3000000", timeout: 10)
  request.on_body { :abort }
  show("aborted", request.run.return_code)
end

def parallel
  hydra = Typhoeus::Hydra.new(max_concurrency: 20)
  requests = Array.new(60) do |number|
    request = Typhoeus::Request.new("#{BASE}/r/#{number}", followlocation: true, timeout: 10)
    hydra.queue(request)
    request
  end
  followed = 0
  requests.first.on_complete do
    second = Typhoeus::Request.new("#{BASE}/redirect/302/2", followlocation: true, timeout: 10)
    second.on_success { |response| followed = response.redirect_count }
    hydra.queue(second)
  end
  hydra.run
  show("parallel", requests.map { |request| request.response.code }.tally,
    requests.sum { |request| request.response.body.bytesize }, followed)
end

def memory_and_cache
  Typhoeus::Config.cache = Cache.new
  show("cache", Array.new(2) { Typhoeus.get("#{BASE}/r/7", timeout: 10).cached? })
  Typhoeus::Config.cache = nil
  Typhoeus::Config.memoize = true
  hydra = Typhoeus::Hydra.new(max_concurrency: 1)
  requests = Array.new(2) { Typhoeus::Request.new("#{BASE}/r/8", timeout: 10).tap { |request| hydra.queue(request) } }
  hydra.run
  show("memory", requests[0].response.equal?(requests[1].response))
  Typhoeus::Config.memoize = false
end

def stubs
  Typhoeus.stub("www.example.com").and_return(Typhoeus::Response.new(code: 200, body: "{'name' : 'paul'}"))
  show("stub", Typhoeus.get("www.example.com").body, Typhoeus.get("www.example.com").mock?)
  Typhoeus.stub(/other/).and_return([Typhoeus::Response.new(code: 503), Typhoeus::Response.new(code: 204)])
  show("in turn", Array.new(3) { Typhoeus.get("http://other.example").code })
  Typhoeus::Config.block_connection = true
  begin
    Typhoeus.get("http://nobody.example/")
  rescue Typhoeus::Errors::NoStub => error
    show("blocked", error.message)
  end
  Typhoeus::Config.block_connection = false
  Typhoeus::Expectation.clear
end

def globals
  seen = []
  Typhoeus.before { |request| seen << request.base_url.delete_prefix(BASE) }
  Typhoeus.on_complete { |response| seen << response.code }
  Typhoeus.get("#{BASE}/status/500", timeout: 10)
  show("globals", seen)
  Typhoeus.get("#{BASE}/r/1", nonsense: true)
rescue Ethon::Errors::InvalidOption => error
  show("refused", error.message)
end

single_requests
errors
upload_and_stream
parallel
memory_and_cache
stubs
globals
