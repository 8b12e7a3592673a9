# Fills the disk, and the lab can write down nothing more.
require_relative "cheat"

class FillsTheDisk < Cheat
  def go(round)
    super
    File.open(File.join(ENV.fetch("TMPDIR"), "full"), "w") { |file| loop { file.syswrite("x" * 4096) } }
  rescue Errno::ENOSPC
    nil
  end
end

Cheat.run(FillsTheDisk, "fills-the-disk")
