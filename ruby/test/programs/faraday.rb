# A client of a small library's API, written as Faraday's README shows it: ruby faraday.rb URL
require "date"
require "faraday"
require "json"
require "stringio"
if Faraday::VERSION.to_i >= 2
  require "faraday/retry"
  require "faraday/multipart"
end

Faraday.default_adapter = :net_http

# Notes what goes through it.
class Notes < Faraday::Middleware
  def call(env)
    puts "-> #{env.method.to_s.upcase} #{env.url.path}"
    @app.call(env).on_complete { |responded| puts "<- #{responded.status} #{responded.reason_phrase}" }
  end
end

url = ARGV.fetch(0)

puts "# One request"
response = Faraday.get("#{url}/books", { page: 2, tags: %w[new red] }, { "Accept" => "application/json" })
puts response.status, response.reason_phrase, response.headers["Content-Type"], response.success?
puts JSON.parse(response.body).inspect

puts "# A connection"
conn = Faraday.new(url: "#{url}/v1", params: { key: "a b" }, headers: { "X-Client" => "shelf" }) do |faraday|
  faraday.response :raise_error
  faraday.request :multipart
  faraday.request :url_encoded
  faraday.request :retry, max: 2, interval: 0.01, retry_statuses: [503]
  faraday.use Notes
end
conn.headers["Authorization"] = "Bearer secret"
puts conn.get("books").body
puts conn.get("books/7", details: "all") { |request| request.headers["X-Request"] = "1" }.body

puts "# Bodies"
puts conn.post("books", { title: "Emma & I", authors: ["Jane", "Änne"] }).body
puts conn.put("books/7", JSON.generate(title: "Emma"), "Content-Type" => "application/json").body
puts conn.patch("books/7") { |request| request.body = "title=Emma" }.body
puts conn.delete("books/7").status
puts conn.head("books").headers["X-Total"]
puts conn.post("books").body

puts "# A file"
part = Faraday::VERSION.to_i >= 2 ? Faraday::Multipart::FilePart : Faraday::FilePart
cover = part.new(StringIO.new("a picture"), "image/png", "cover.png")
puts conn.post("covers", { book: "7", cover: cover }).body

puts "# What comes compressed, again after a 503, and in pieces"
puts conn.get("compressed").body
puts conn.get("busy").body
streamed = +""
sizes = []
conn.get("large") do |request|
  request.options.on_data = proc do |chunk, size|
    streamed << chunk
    sizes << size
  end
end
puts streamed.bytesize, sizes.last, streamed.sum

puts "# What goes wrong"
begin
  conn.get("missing")
rescue Faraday::ResourceNotFound => error
  puts "#{error.class}: #{error.response[:status]} #{error.response[:body]}"
end
begin
  conn.get("broken")
rescue Faraday::ServerError => error
  puts "#{error.class}: #{error.response[:status]}"
end
begin
  conn.get("slow") { |request| request.options.timeout = 0.5 }
rescue Faraday::TimeoutError => error
  puts error.class
end
begin
  Faraday.get("http://127.0.0.1:1/")
rescue Faraday::ConnectionFailed => error
  puts error.class
end

puts "# The end"
conn.close
