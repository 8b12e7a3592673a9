# One client in a process of its own: holds requests in flight, or keeps responses.
#
# Usage: client.rb CLIENT flight|kept COUNT WARM URL. A hundred responses of WARM come first, so that what a client
# makes only once is there. The process prints `ready`, and reads a line before it begins. Requests in flight stay there
# until the process is killed. When all responses are kept, it prints by how many bytes Ruby's objects grew.
require "objspace"

# Each sends these requests, in_flight of them at once, and returns the responses, whose bodies have been read.
module Clients
  TIMEOUT = 600

  def self.hecaton(urls, in_flight)
    (@hecaton ||= Hecaton::Client.new(timeout: TIMEOUT)).get_all(urls, concurrency: in_flight)
  end

  def self.hecaton_get(urls, in_flight)
    client = (@hecaton ||= Hecaton::Client.new(timeout: TIMEOUT))
    threads(urls, in_flight) { |queue| each_of(queue) { |url| client.get(url) } }
  end

  def self.typhoeus(urls, in_flight)
    hydra = Typhoeus::Hydra.new(max_concurrency: in_flight)
    requests = urls.map { |url| Typhoeus::Request.new(url).tap { |request| hydra.queue(request) } }
    hydra.run
    requests.map(&:response)
  end

  def self.http_rb(urls, in_flight)
    threads(urls, in_flight) do |queue|
      client = HTTP.timeout(TIMEOUT).persistent(urls.first[%r{\Ahttp://[^/]+}])
      each_of(queue) { |url| client.get(url).flush }
    end
  end

  def self.httpx(urls, in_flight)
    threads(urls, in_flight) do |queue|
      session = HTTPX.plugin(:persistent).with(timeout: { request_timeout: TIMEOUT, read_timeout: TIMEOUT })
      each_of(queue) { |url| session.get(url).tap(&:to_s) }
    end
  end

  def self.net_http(urls, in_flight)
    threads(urls, in_flight) do |queue|
      uri = URI(urls.first)
      Net::HTTP.start(uri.host, uri.port, read_timeout: TIMEOUT) { |http| each_of(queue) { |url| http.get(url) } }
    end
  end

  def self.threads(urls, in_flight, &block)
    queue = Queue.new
    urls.each { |url| queue << url }
    queue.close
    Array.new(in_flight) { Thread.new(queue, &block) }.flat_map(&:value)
  end

  def self.each_of(queue)
    responses = []
    while (url = queue.pop)
      responses << yield(url)
    end
    responses
  end
end

LIBRARIES = {
  "hecaton" => ["hecaton", :hecaton],
  "hecaton, typhoeus" => ["hecaton/typhoeus", :typhoeus],
  "typhoeus" => ["typhoeus", :typhoeus],
  "hecaton, threads" => ["hecaton", :hecaton_get],
  "net/http, threads" => ["net/http", :net_http],
  "http.rb, threads" => ["http", :http_rb],
  "httpx, threads" => ["httpx", :httpx]
}.freeze
name, what, count, warm, url = ARGV
library, way = LIBRARIES.fetch(name)
count = Integer(count)
begin
  require library
rescue LoadError
  exit 3
end
send = Clients.method(way)
in_flight = what == "flight" ? count : 10
collect = -> { 3.times { GC.start } }

send.call(Array.new(100) { |at| "#{warm}/w/#{at}" }, 10)
collect.call
size = ObjectSpace.memsize_of_all
$stdout.sync = true
puts "ready"
$stdin.gets
kept = send.call(Array.new(count) { |at| "#{url}/r/#{at}" }, in_flight)
collect.call
puts ObjectSpace.memsize_of_all - size
$stdin.gets
abort "#{kept.size} responses" unless kept.size == count
