# Downloads to a file piece by piece: however large the body is, little of it is in memory.
#
#   ruby -Iruby/lib ruby/examples/download.rb http://127.0.0.1:PORT
require "tempfile"
require "hecaton"

base = ARGV[0] || ENV.fetch("BASE_URL")
client = Hecaton::Client.new(timeout: 60, read_timeout: 10, base_url: base)

Tempfile.create("download") do |file|
  file.binmode
  type = client.get("/bytes/5000000", raise_for_status: true) do |response|
    # A slow disk slows the server down: nothing is read before it is asked for.
    response.each_chunk { |chunk| file.write(chunk) }
    response.headers["content-type"]
  end
  file.flush
  puts "#{file.size} bytes of #{type}"
end
