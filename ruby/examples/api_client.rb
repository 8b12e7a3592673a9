# Wraps an API: one client for all its requests, retries that show, errors that say what happened.
#
#   ruby -Iruby/lib ruby/examples/api_client.rb http://127.0.0.1:PORT
require "json"
require "hecaton"

# A program keeps one of these for an API. Threads can share it: it has one pool of connections.
class Items
  def initialize(base)
    @client = Hecaton::Client.new(
      base_url: base, timeout: 5, connect_timeout: 1, headers: { "Accept" => "application/json" }, bearer: "secret",
      retry: { max: 2, statuses: [429, 503], interval: 0.05 }, raise_for_status: true, app_name: "example"
    )
  end

  def item(id) = JSON.parse(@client.get("/r/#{id}").body)

  def create(fields) = JSON.parse(@client.post("/echo", body: JSON.generate(fields)).body)

  def report = @client.get("/status/503")
end

items = Items.new(ARGV[0] || ENV.fetch("BASE_URL"))
puts "item 7 has the fields #{items.item(7).keys.join(", ")}"
puts "created: #{items.create("name" => "hammer")["body"]}"

begin
  items.report
rescue Hecaton::StatusError => error
  # Three tries, each of which is listed: nothing was sent twice behind your back.
  puts "the report failed with #{error.status} after #{error.attempts.size} attempts"
rescue Hecaton::Error => error
  puts "no response: #{error.message}"
end
