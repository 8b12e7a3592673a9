# Loads one client in a new process, sends one request, and prints what each step took.
#
# Usage: once.rb CLIENT URL STARTED, STARTED being CLOCK_MONOTONIC when the process was started. Nothing is loaded here
# but the client. The line has wall and CPU milliseconds of Ruby's own start, of `require` and of the request, and then
# the files and the objects of `require`.
CLIENTS = {
  "hecaton"  => ["hecaton", ->(url) { Hecaton.get(url, timeout: 10).body }],
  "net/http" => ["net/http", ->(url) { Net::HTTP.get_response(URI(url)).body }],
  "http.rb"  => ["http", ->(url) { HTTP.get(url).to_s }],
  "httpx"    => ["httpx", ->(url) { HTTPX.get(url).to_s }],
  "typhoeus" => ["typhoeus", ->(url) { Typhoeus.get(url).body }],
  "curb"     => ["curb", ->(url) { Curl.get(url).body_str }]
}.freeze

def clocks
  [Process::CLOCK_MONOTONIC, Process::CLOCK_PROCESS_CPUTIME_ID].map do |clock|
    Process.clock_gettime(clock, :float_millisecond)
  end
end

library, get = CLIENTS.fetch(ARGV[0])
files, objects = $LOADED_FEATURES.size, GC.stat(:total_allocated_objects)
times = [[Float(ARGV[2]), 0], clocks]
begin
  require library
rescue LoadError
  exit 3
end
times << clocks
loaded = [$LOADED_FEATURES.size - files, GC.stat(:total_allocated_objects) - objects]
body = get.call(ARGV[1])
times << clocks
abort "#{ARGV[0]}: no response" unless body.bytesize == 133
puts [*times.each_cons(2).flat_map { |before, after| [after[0] - before[0], after[1] - before[1]] }, *loaded].join(" ")
