# The origins that the soak asks: HTTP/1.1 and HTTP/2, in the clear and over TLS, HTTP/2 with a GOAWAY now and then.

# Each a process of its own, so that their memory is not the client's.
class Origins
  CHAOS = "reset=0.5%,stall=0.2%,truncate=0.5%,500=1%,garbage=0.5%,close=0.5%,slow=0.5%".freeze
  BODY = 133
  # What is still on its way when the last request has ended must have been read before the ledgers are.
  DRAIN = 2

  PLAIN = [].freeze
  TLS = %w[--tls].freeze
  HTTP2 = %w[--http2 --http2-goaway-after 500].freeze

  def initialize(folder)
    @folder = folder
    @running = {}
    { plain: PLAIN, tls: TLS, http2: HTTP2, http2_tls: TLS + HTTP2 }.each { |name, options| start(name, options) }
    at_exit { kill }
  end

  def url(name) = @running.fetch(name).last

  # What a client needs to ask it.
  def settings(name)
    case name
    when :plain then {}
    when :http2 then { http: "2" }
    else { ca: ca(name) }
    end
  end

  # Path of the authority's certificate.
  def ca(name) = File.join(@folder, "#{name}.pem")

  # Ends them; their ledgers by name.
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
    url = process.gets or abort "the origin #{name} does not start"
    @running[name] = [process, url.chomp]
  end

  def kill
    @running.each_value { |process, _| Process.kill(:KILL, process.pid) }
  end
end
