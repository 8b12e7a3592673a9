# The listeners of the servers in apps/, in a JSON file that each of them reads.
module Servers
  # Each program in apps/ has that file as its one argument.
  # It is a list of {port, kind, cert, key, ca, min, max, streams, idle}:
  #
  # - kind is http, h2c, https (HTTP/1.1 alone), h2 (ALPN with both) or h3 (HTTP/3 over UDP).
  # - ca: clients must show a certificate of this authority.
  # - idle: the seconds after which an idle connection is closed.
  #
  # Its responses:
  #
  # - /echo is {"method", "path"}
  # - /upload is {"method", "bytes", "crc32"}
  # - /bytes/<n> is n bytes
  # - /gzipped is 100 kB of text in gzip
  # - /fields/<n> has n fields
  # - /early is 413 at once, without reading the body
  module Listeners
    include Kinds

    def configure = write("listeners.json", JSON.generate(listeners))
    def file = File.join(dir, "listeners.json")
    def early_path = "/early"

    def listen(name, kind, **more) = { port: port(name), kind: kind, **more }

    # One for each kind of TLS.
    def secure(kind = "h2")
      kinds.map do |one|
        { port: one.port, kind: kind, cert: one.certificate, key: one.key, ca: (certificates.ca if one.demands?),
          min: one.versions.min, max: one.versions.max }.compact
      end
    end
  end
end
