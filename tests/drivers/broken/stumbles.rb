# Ends in the middle of a round, but only once: as long as the file that HECATON_STUMBLED names is not there.
require_relative "broken"

class Stumbles < Broken
  def break_down
    stumbled = ENV.fetch("HECATON_STUMBLED")
    return if File.exist?(stumbled)

    File.write(stumbled, "")
    exit!(3)
  end
end

Cheat.run(Stumbles, "stumbles")
