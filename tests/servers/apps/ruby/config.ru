# The Rack application under puma; see ../../lib/listeners.rb for its responses.
require "json"
require "stringio"
require "zlib"

TEXT = "Nothing is lost that was coded and decoded. " * 2300
json = ->(value) { [200, { "Content-Type" => "application/json" }, [JSON.generate(value)]] }

run(lambda do |env|
  method, path = env.values_at("REQUEST_METHOD", "PATH_INFO")
  case path
  when "/early" then [413, { "Content-Length" => "0" }, []]
  when "/upload"
    body = env["rack.input"].read
    json.call(method: method, bytes: body.bytesize, crc32: Zlib.crc32(body))
  when %r{\A/bytes/(\d+)\z} then [200, {}, [("abcdefghijklmnopqrstuvwxyz" * ($1.to_i / 26 + 1))[0, $1.to_i]]]
  when "/gzipped" then [200, { "Content-Type" => "text/plain", "Content-Encoding" => "gzip" }, [Zlib.gzip(TEXT)]]
  else json.call(method: method, path: [path, env["QUERY_STRING"]].reject(&:empty?).join("?"))
  end
end)
