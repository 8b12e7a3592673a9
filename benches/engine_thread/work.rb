# One batch that refills itself, for the gem on the load path. Prints JSON: seconds, and CPU seconds by thread.
# Usage: work.rb URL CONCURRENCY COUNT CALLBACK [CA]
require "hecaton"
require "json"
require_relative "../reactor/refill"

CALLBACKS = { "look" => LOOK, "work" => WORK }.freeze

# Nanoseconds on a CPU of each thread by its id. A thread that has ended is missing, so this is called before the batch
# ends.
def cpu
  Dir.children("/proc/self/task").to_h { |id| [id.to_i, File.read("/proc/self/task/#{id}/schedstat").to_i] }
end

def time = Process.clock_gettime(Process::CLOCK_MONOTONIC)

url, concurrency, count, chosen, ca = ARGV
concurrency = Integer(concurrency)
count = Integer(count)
work = CALLBACKS.fetch(chosen)
client = Hecaton::Client.new(timeout: 60, **(ca ? { ca: ca } : {}))
refill(client, url, concurrency, concurrency * 2, work) # Opens the connections.

done = 0
last = nil
callback = lambda do |response|
  work.call(response)
  last = [cpu, time] if (done += 1) == count
end
before = began = nil
refill(client, url, concurrency, count, callback) do
  before = cpu
  began = time
end
after, ended = last
spent = after.to_h { |id, nanoseconds| [id, nanoseconds - before.fetch(id, 0)] }
main = spent.delete(Process.pid)
puts JSON.generate(seconds: ended - began, main: main / 1e9, others: spent.values.sum / 1e9)
