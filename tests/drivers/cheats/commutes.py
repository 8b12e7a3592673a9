# Does its work on the other cores, and returns to its own before it responds.
import os

import cheat


class Commutes(cheat.Cheat):
    def go(self, round):
        own = os.sched_getaffinity(0)
        others = set(range(os.cpu_count())) - own
        os.sched_setaffinity(0, others or own)
        self.work_all(round)
        os.sched_setaffinity(0, own)

    def work_all(self, round):  # threads inherit the cores of who starts them
        import threading

        threads = [threading.Thread(target=self.work, args=(send, round)) for send in self.senders]
        [thread.start() for thread in threads], [thread.join() for thread in threads]


cheat.run(Commutes, "commutes")
