# One round of another client, by its driver: a request that opens the connection, and then a batch. Prints the times as
# JSON.
#
# Usage: driver.rb URL CA VERSION COUNT BYTES COMMAND…
require "json"

url, ca, version, count, bytes, *command = ARGV
count = Integer(count)
now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
driver = IO.popen(command, "r+")
send = lambda do |**line|
  driver.puts(JSON.generate(id: 1, **line))
  reply = JSON.parse(driver.gets || abort("#{command.first} ended"), symbolize_names: true)
  reply[:ok] ? reply : abort("#{command.first}: #{reply}")
end
go = lambda do |first, number|
  started = now.call
  reply = send.call(cmd: "go", first: first, count: number, lat_every: 1)
  right = reply[:done] == number && reply[:bytes] == number * Integer(bytes)
  right ? [now.call - started, reply[:lat_us]] : abort("#{command.first}: #{reply}")
end
send.call(cmd: "hello", proto: 2)
send.call(cmd: "prepare", method: "GET", url: "#{url}/r/", append_id: true, concurrency: count, keepalive: true,
  verify: "tail", timeout_ms: 120_000, http: version, ca: ca)
first, = go.call(1, 1)
batch, times = go.call(2, count)
driver.close_write
puts JSON.generate(first: first, batch: batch, times: times.flat_map { |micros, number|
  [micros / 1e6] * (number || 1)
}.sort)
