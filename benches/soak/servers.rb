# The test servers of the soak: HTTP/1.1 and HTTP/2, plaintext and TLS; all make faults, respond early and reload.

# Each server has its own process, so that its memory is not the client's.
class Servers
  CHAOS = "reset=0.5%,stall=0.2%,truncate=0.5%,500=1%,garbage=0.5%,close=0.5%,slow=0.5%,early=0.5%".freeze
  BODY = 133
  # Seconds to wait after the last request for bytes on their way, before the servers' logs are read.
  DRAIN = 2

  # Connections end without notice, as at a server that reloads: after 20 responses, because faults end most before 50.
  PLAIN = %w[--close-after 20].freeze
  TLS = %w[--tls].freeze
  HTTPS = (TLS + PLAIN).freeze
  # Connections end with GOAWAY.
  HTTP2 = %w[--http2 --http2-goaway-after 500].freeze

  def initialize(folder)
    @folder = folder
    @running = {}
    { plain: PLAIN, tls: HTTPS, http2: HTTP2, http2_tls: TLS + HTTP2 }.each { |name, options| start(name, options) }
    at_exit { kill }
  end

  def url(name) = @running.fetch(name).last

  # The settings of a client for this server.
  def settings(name)
    case name
    when :plain then {}
    when :http2 then { http: "2" }
    else { ca: ca(name) }
    end
  end

  # Path of the authority's certificate.
  def ca(name) = File.join(@folder, "#{name}.pem")

  # Ends the servers, and returns their logs by name.
  def stop
    sleep DRAIN
    @running.to_h do |name, (process, _)|
      Process.kill(:TERM, process.pid)
      [name, JSON.parse(process.read)]
    ensure
      process.close
    end
  ensure
    @running.clear
  end

  private

  def start(name, options)
    command = [File.expand_path("../../bin/hecaton", __dir__), "serve", "--chaos", CHAOS, "--seed", "1", *options]
    command.push("--tls-ca-out", ca(name)) if options.include?("--tls")
    process = IO.popen(command)
    url = process.gets or abort "the test server #{name} does not start"
    @running[name] = [process, url.chomp]
  end

  def kill
    @running.each_value { |process, _| Process.kill(:KILL, process.pid) }
  end
end
