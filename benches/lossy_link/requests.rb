# One round: a request that opens the connection, and then a batch over it. Prints the times as JSON.
#
# Usage: requests.rb URL CA VERSION COUNT BYTES
require "json"
require "hecaton"

url, ca, version, count, bytes = ARGV
client = Hecaton::Client.new(timeout: 120, connect_timeout: 120, tls_timeout: 120, http: version, ca: ca, proxy: false)
now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
started = now.call
first = client.get("#{url}/r/0")
opened = now.call
outcomes = client.get_all(Array.new(Integer(count)) { |id| "#{url}/r/#{id + 1}" }, concurrency: Integer(count))
responses = outcomes.map { |outcome| outcome.response || abort(outcome.error.message) }
ended = now.call
wrong = responses.count { |response| response.status != 200 || response.body.bytesize != Integer(bytes) }
used = ([first] + responses).map { |response| response.attempts.last.version }.uniq
abort "#{wrong} wrong responses, versions #{used}" unless wrong.zero? && used == [version]
puts JSON.generate(first: opened - started, batch: ended - opened, connections: client.stats[:opened],
  times: responses.map(&:elapsed).sort)
