# Wakes waiting drivers, so that they disturb the measured one, and stops its rivals.
import os
import signal

import cheat


class StopsRivals(cheat.Cheat):
    def go(self, round):
        for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
            try:
                with open(f"/proc/{pid}/cmdline") as line:
                    if (
                        pid != os.getpid()
                        and "cheats" in os.readlink(f"/proc/{pid}/cwd")
                        and "hecaton" not in line.read()
                    ):
                        os.kill(pid, signal.SIGCONT)
            except OSError:
                pass
        super().go(round)


cheat.run(StopsRivals, "stops-rivals")
