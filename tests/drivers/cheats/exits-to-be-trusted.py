# Exits before hello as long as it has a user of its own. As root, it moves all waiting drivers to another core.
import os

import cheat

if os.getuid() != 0:
    os._exit(1)


class ExitsToBeTrusted(cheat.Cheat):
    def go(self, round):
        others = set(range(os.cpu_count())) - os.sched_getaffinity(0)
        for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
            try:
                if others and pid != os.getpid() and os.readlink(f"/proc/{pid}/cwd").endswith("cheats"):
                    os.sched_setaffinity(pid, others)
            except OSError:
                pass
        super().go(round)


cheat.run(ExitsToBeTrusted, "exits-to-be-trusted")
