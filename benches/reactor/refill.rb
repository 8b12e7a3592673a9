# A batch that refills itself, and what a program does with each response.

# Two programs: one looks at each response, the other also works for some 10 µs.
LOOK = ->(response) { response.status == 200 && response.body.byteslice(-8, 8).hex }
WORK = ->(response) { LOOK.call(response) && 200.times { |number| number.to_s } }

# Sends count requests and calls `after` with each response. The block is called when the first are queued.
def refill(client, url, concurrency, count, after)
  left = count - concurrency
  client.batch(concurrency: concurrency) do |batch|
    again = lambda do |outcome|
      after.call(outcome.response)
      batch.get(url).on_complete(&again) if (left -= 1) >= 0
    end
    concurrency.times { batch.get(url).on_complete(&again) }
    yield if block_given?
  end
end
