# Takes all process ids of the machine, and other drivers can start nothing.
import os
import signal
import sys

import cheat

STARTED = []


class FillsTheProcessTable(cheat.Cheat):
    def __init__(self, job):
        super().__init__(job)
        while len(STARTED) < 6000:
            try:
                child = os.fork()
            except OSError:
                break
            if child == 0:
                signal.pause()
            STARTED.append(child)
        print(len(STARTED), "processes started", file=sys.stderr, flush=True)
        for _ in range(20):  # what the requests need
            os.kill(STARTED[-1], signal.SIGKILL)
            os.waitpid(STARTED.pop(), 0)


cheat.run(FillsTheProcessTable, "fills-the-process-table")
