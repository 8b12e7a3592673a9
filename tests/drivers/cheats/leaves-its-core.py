# Uses every core, and yields them while nobody measures.
import os

import cheat


class LeavesItsCore(cheat.Cheat):
    def go(self, round):
        os.sched_setaffinity(0, range(os.cpu_count()))
        super().go(round)


cheat.run(LeavesItsCore, "leaves-its-core")
