# Uses the gem that is installed in GEM_HOME: a get, a batch, a get over HTTP/3, and a look at where the engine came
# from. Prints one line.
require "hecaton"
require "tmpdir"

# What the block is given the URL of.
def serving(*options)
  server = IO.popen([ENV.fetch("HECATON_BINARY"), "serve", *options])
  yield server.gets.chomp
ensure
  Process.kill(:TERM, server.pid)
end

serving do |url|
  client = Hecaton::Client.new(timeout: 30)
  abort "get" unless client.get("#{url}/r/1").status == 200
  ended = 0
  client.batch(concurrency: 5) do |batch|
    50.times { batch.get("#{url}/r/2").on_complete { |outcome| ended += 1 if outcome.response } }
  end
  abort "batch: #{ended} of 50" unless ended == 50
end
Dir.mktmpdir do |folder|
  serving("--tls", "--tls-ca-out", "#{folder}/ca", "--http3") do |url|
    response = Hecaton::Client.new(timeout: 30, ca: "#{folder}/ca", http: "3").get("#{url}/r/1")
    abort "HTTP/3" unless [response.status, response.http_version] == [200, "3"]
  end
end
native = $LOADED_FEATURES.grep(/hecaton.*\.(so|bundle)\z/)
abort "not loaded from the gem: #{native}" unless native.size == 1 && native[0].start_with?(ENV.fetch("GEM_HOME"))
puts "used #{Hecaton::VERSION} with Ruby #{RUBY_VERSION} from the installed gem"
