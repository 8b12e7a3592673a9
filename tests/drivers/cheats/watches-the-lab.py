# Sees in /proc when the lab has sampled it, and works on other cores until the next sample.
import os
import threading
import time

import cheat

LEAST = 1.4  # the next sample is at least this many times later, counted from the beginning


class WatchesTheLab(cheat.Cheat):
    def go(self, round):
        own = os.sched_getaffinity(0)
        others = set(range(os.cpu_count())) - own or own
        self.over, begun = False, time.perf_counter()
        watcher = threading.Thread(target=self.watch, args=(begun, own, others))
        watcher.start()
        super().go(round)
        self.over = True
        watcher.join()
        self.move(own)

    def watch(self, begun, own, others):
        looks = f"/proc/{os.getppid()}/schedstat"
        seen, back = open(looks).read(), 0
        while not self.over:
            time.sleep(0.0005)
            now, elapsed = open(looks).read(), time.perf_counter() - begun
            if now != seen and back == 0 and elapsed > 0.01:
                back = elapsed * LEAST
                self.move(others)
            elif back and elapsed >= back:
                self.move(own)
                back = 0
            seen = now

    def move(self, cores):
        for thread in os.listdir("/proc/self/task"):
            try:
                os.sched_setaffinity(int(thread), cores)
            except OSError:
                pass


cheat.run(WatchesTheLab, "watches-the-lab")
