# Closes in a child of fork what its parent's clients have open, so that servers see connections end when the parent ends them.
module Hecaton
  # What Ruby calls for each fork but that of Process.daemon, where the first use of a client sees to it. A child that goes on as
  # another program never has the parent's descriptors.
  module Fork
    # Forks, and closes in the child what is the parent's. Returns what Process._fork does.
    def _fork
      pid = super
      Native.forget_inherited if pid.zero?
      pid
    end
  end
  Process.singleton_class.prepend(Fork)
end
