# Gets a list of URLs at once and prints what came of each, in the order of the list.
#
#   ruby -Iruby/lib ruby/examples/get_all.rb http://127.0.0.1:PORT
require "hecaton"

base = ARGV[0] || ENV.fetch("BASE_URL")
paths = %w[/r/1 /delay/50 /status/404 /fault/close /r/2]

client = Hecaton::Client.new(timeout: 10, base_url: base)
outcomes = client.get_all(paths, concurrency: 50, timeout: 5)

paths.zip(outcomes) do |path, outcome|
  # A request that failed raised nothing: it is an Error in the list, where its Response would be.
  response = outcome.response
  said = response ? "#{response.status}, #{response.body.bytesize} bytes" : outcome.error.message
  puts format("%-12s %4d ms  %s", path, outcome.elapsed * 1000, said)
end
