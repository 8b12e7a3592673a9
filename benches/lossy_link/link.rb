# A network between two namespaces that delays each packet and drops some of them. It needs root and /dev/net/tun, and
# no kernel module for traffic control: each side is a TUN device, and this program carries the packets.
class Link
  # Addresses of the two sides.
  CLIENT = "10.77.0.1"
  SERVER = "10.77.0.2"
  NETWORK = "10.77.0.0/24"

  # The congestion control of TCP on both sides: the one that QUIC uses here (quinn's default, RFC 9438), whatever this
  # machine has for TCP.
  CONGESTION = "cubic"

  TUNSETIFF = 0x400454ca
  IFF_TUN = 0x0001
  IFF_NO_PI = 0x1000
  PACKET = 65_536
  private_constant :TUNSETIFF, :IFF_TUN, :IFF_NO_PI, :PACKET

  # delay: seconds in each direction; loss: the share of packets that are dropped, 0 to 1; seed: of the drops.
  def initialize(delay:, loss:, seed:)
    @delay, @loss, @random = delay, loss, Random.new(seed)
    @name = "hecaton#{Process.pid}"
    @devices = { "a" => CLIENT, "b" => SERVER }.map { |side, address| device(side, address) }
    @carrier = fork { carry }
    @devices.each(&:close)
  end

  # Commands that run at the client's and at the server's side.
  def at_client(*command) = ["ip", "netns", "exec", "#{@name}a", *command]
  def at_server(*command) = ["ip", "netns", "exec", "#{@name}b", *command]

  def close
    Process.kill(:TERM, @carrier)
    Process.wait(@carrier)
    %w[a b].each { |side| ip("netns", "delete", @name + side) }
  end

  private

  def ip(*arguments) = system("ip", *arguments, exception: true)

  # The device is made here, because this process reads and writes its packets, and then moved to its namespace.
  def device(side, address)
    name = "hec#{Process.pid}#{side}"
    file = File.open("/dev/net/tun", "r+b")
    file.ioctl(TUNSETIFF, [name, IFF_TUN | IFF_NO_PI].pack("a16Sx22"))
    space = @name + side
    ip("netns", "add", space)
    ip("link", "set", name, "netns", space)
    ip("-n", space, "address", "add", "#{address}/24", "dev", name)
    [name, "lo"].each { |device| ip("-n", space, "link", "set", device, "up") }
    ip("-n", space, "route", "change", NETWORK, "dev", name, "congctl", CONGESTION)
    file
  end

  def carry
    trap(:TERM) { exit!(0) }
    waiting = []
    loop do
      wait = waiting.empty? ? nil : [waiting.first.first - now, 0].max
      readable, = IO.select(@devices, nil, nil, wait)
      readable&.each { |from| take(from, waiting) }
      waiting.shift.then { |_, to, packet| to.syswrite(packet) } until waiting.empty? || waiting.first.first > now
    end
  end

  # Each packet waits equally long, so those that wait are in order.
  def take(from, waiting)
    while (packet = from.read_nonblock(PACKET, exception: false)).is_a?(String)
      waiting << [now + @delay, @devices.find { |device| device != from }, packet] if @random.rand >= @loss
    end
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
