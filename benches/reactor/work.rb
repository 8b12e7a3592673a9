# One round of work for the gem on the load path: prints requests per second. Usage: work.rb JOB URL
require "hecaton"

job, url = ARGV
CLIENT = Hecaton::Client.new(timeout: 10)

# A batch that refills itself; `after` is what the program does with each response.
def batch(url, concurrency, count, &after)
  left = count - concurrency
  CLIENT.batch(concurrency: concurrency) do |batch|
    again = lambda do |outcome|
      after.call(outcome.response)
      batch.get(url).on_complete(&again) if (left -= 1) >= 0
    end
    concurrency.times { batch.get(url).on_complete(&again) }
  end
end

look = ->(response) { response.status == 200 && response.body.byteslice(-8, 8).hex }
work = ->(response) { look.call(response) && 200.times { |number| number.to_s } } # some 10 µs of Ruby
JOBS = {
  "get" => [12_000, ->(count) { count.times { look.call(CLIENT.get(url)) } }],
  "get, 8 threads" => [24_000, ->(count) { Array.new(8) { Thread.new { (count / 8).times { look.call(CLIENT.get(url)) } } }.each(&:join) }],
  "batch of 10" => [60_000, ->(count) { batch(url, 10, count, &look) }],
  "batch of 50" => [60_000, ->(count) { batch(url, 50, count, &look) }],
  "batch of 200" => [60_000, ->(count) { batch(url, 200, count, &look) }],
  "batch of 50, busy callbacks" => [40_000, ->(count) { batch(url, 50, count, &work) }]
}.freeze

abort JOBS.keys.join("\n") unless job
count, run = JOBS.fetch(job)
run.call(count / 20)
begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
run.call(count)
puts (count / (Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun)).round
