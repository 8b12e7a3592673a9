# One round of work for the gem on the load path: prints requests per second. Usage: work.rb JOB URL
require "hecaton"
require_relative "refill"

job, url = ARGV
CLIENT = Hecaton::Client.new(timeout: 10)

def batch(url, concurrency, count, after) = refill(CLIENT, url, concurrency, count, after)

JOBS = {
  "get" => [12_000, ->(count) { count.times { LOOK.call(CLIENT.get(url)) } }],
  "get, 8 threads" => [24_000, ->(count) { Array.new(8) { Thread.new { (count / 8).times { LOOK.call(CLIENT.get(url)) } } }.each(&:join) }],
  "batch of 10" => [60_000, ->(count) { batch(url, 10, count, LOOK) }],
  "batch of 50" => [60_000, ->(count) { batch(url, 50, count, LOOK) }],
  "batch of 200" => [60_000, ->(count) { batch(url, 200, count, LOOK) }],
  "batch of 50, busy callbacks" => [40_000, ->(count) { batch(url, 50, count, WORK) }]
}.freeze

abort JOBS.keys.join("\n") unless job
count, run = JOBS.fetch(job)
run.call(count / 20)
begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
run.call(count)
puts (count / (Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun)).round
