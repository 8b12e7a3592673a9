# Memory and descriptors of this process over time.

# Samples are taken now and then. Samples before the end of the warm-up do not count.
class Watch
  # The share of the time in which caches, pools and the heap may fill.
  WARM_UP = 0.3
  # The growth of the resident memory from the first to the last third after the warm-up that is accepted.
  FLAT_SHARE = 0.05
  FLAT_MB = 4.0

  # Descriptors that a client keeps when it is closed: two of epoll and one that wakes it.
  OF_A_CLIENT = 3

  Look = Struct.new(:at, :rss_mb, :descriptors) do
    def say = "#{at} s, #{rss_mb} MB, #{descriptors} descriptors"
  end

  def initialize(seconds)
    @seconds = seconds
    @looks = []
    @at_start = descriptors
  end

  def look(at) = @looks << Look.new(at.round(1), rss_mb, descriptors)

  def say = format("%6.1f MB  %4d descriptors", rss_mb, descriptors)

  # Checks the descriptors after this many clients are closed.
  def finish(clients)
    @left = descriptors - @at_start - clients * OF_A_CLIENT
  end

  def faults
    faults = []
    faults << "memory grew from #{early} MB to #{late} MB" if late - early > [FLAT_MB, early * FLAT_SHARE].max
    faults << "#{@left} descriptors are left open" if @left.positive?
    if descriptors_late > descriptors_early * 1.2 + 10
      faults << "open descriptors grew from #{descriptors_early} to #{descriptors_late}"
    end
    faults
  end

  def figures
    { rss_mb_early: early, rss_mb_late: late, rss_mb_peak: peak, descriptors_early: descriptors_early,
      descriptors_late: descriptors_late, descriptors_left: @left,
      looks: @looks.each_slice([@looks.size / 30, 1].max).map { |looks| looks.first.say } }
  end

  private

  def early = median(thirds.first.map(&:rss_mb))
  def late = median(thirds.last.map(&:rss_mb))
  def descriptors_early = median(thirds.first.map(&:descriptors))
  def descriptors_late = median(thirds.last.map(&:descriptors))

  def thirds
    warm = @looks.select { |look| look.at >= @seconds * WARM_UP }
    warm.each_slice((warm.size / 3.0).ceil).to_a
  end

  def median(values) = values.sort[values.size / 2]
  def rss_mb = (File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i / 1024.0).round(1)
  def peak = (File.read("/proc/self/status")[/VmHWM:\s+(\d+)/, 1].to_i / 1024.0).round(1)
  # The descriptor that reads the folder does not count.
  def descriptors = Dir.children("/proc/self/fd").size - 1
end
