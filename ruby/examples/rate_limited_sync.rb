# Copies items from an API that allows so many requests a second, and goes through none of them twice.
#
#   ruby -Iruby/lib ruby/examples/rate_limited_sync.rb http://127.0.0.1:PORT
require "hecaton"

base = ARGV[0] || ENV.fetch("BASE_URL")
client = Hecaton::Client.new(timeout: 10, base_url: base)
copied = {}
again = []
begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# Evenly spaced: one request every 20 ms, the first at once. The time spent waiting for that is not in the timeout.
client.batch(concurrency: 10, rate: 50) do |batch|
  (1..30).each do |id|
    batch.get("/r/#{id}")
      .on_success { |outcome| copied[id] = outcome.response.body }
      .on_failure { again << id }
  end
end

seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun
puts format("%d items in %.1f s, %d to be tried another time", copied.size, seconds, again.size)
