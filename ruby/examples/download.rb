# Downloads to files piece by piece, one and then several at once: however large they are, little of them is in memory.
#
#   ruby -Iruby/lib ruby/examples/download.rb http://127.0.0.1:PORT
require "tempfile"
require "tmpdir"
require "hecaton"

base = ARGV[0] || ENV.fetch("BASE_URL")
client = Hecaton::Client.new(timeout: 60, read_timeout: 10, base_url: base)

Tempfile.create("download") do |file|
  file.binmode
  type = client.get("/bytes/5000000", raise_for_status: true) do |response|
    # A slow disk slows the server down: nothing is read before the block needs it.
    response.each_chunk { |chunk| file.write(chunk) }
    response.headers["content-type"]
  end
  file.flush
  puts "#{file.size} bytes of #{type}"
end

Dir.mktmpdir("downloads") do |folder|
  client.batch(concurrency: 4) do |batch|
    (1..8).each do |megabytes|
      file = File.open("#{folder}/#{megabytes}", "wb")
      # raise_for_status, lest the page of an error is written to the file.
      batch.get("/bytes/#{megabytes}000000", raise_for_status: true)
        .on_body { |chunk| file.write(chunk) }
        .on_complete { |outcome| file.close; warn outcome.error.message unless outcome.success? }
    end
  end
  puts "#{Dir.children(folder).sum { |name| File.size("#{folder}/#{name}") }} bytes in 8 files"
end
