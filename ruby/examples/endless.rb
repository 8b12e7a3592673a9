# Goes through an endless list of URLs lazily, and stops as soon as it has what it looks for.
#
#   ruby -Iruby/lib ruby/examples/endless.rb http://127.0.0.1:PORT
require "hecaton"

base = ARGV[0] || ENV.fetch("BASE_URL")
client = Hecaton::Client.new(timeout: 10, base_url: base)

# The next path is taken when a request can start: no more than ten requests are ever ahead of what is read here.
paths = (1..).lazy.map { |id| "/r/#{id}" }
found = client.each_response(paths, concurrency: 10)
  .lazy
  .select { |outcome, _path| outcome.success? && outcome.response.body.sum % 7 == 0 }
  .first(3)

found.each { |outcome, path| puts "#{path}: #{outcome.response.body.bytesize} bytes" }
puts "#{client.idle_connections} connections are left for the next request"
