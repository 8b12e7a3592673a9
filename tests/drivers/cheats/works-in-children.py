# Sends its requests from children that nobody waits for, so that their CPU time is not counted.
import json
import os
import signal

import cheat


class WorksInChildren(cheat.Cheat):
    def go(self, round):
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        from_child, to_parent = os.pipe()
        if os.fork() == 0:
            self.senders = [self.sender(round.job) for _ in self.senders]
            self.pool = cheat.workers.ThreadPoolExecutor(len(self.senders))
            super().go(round)
            os.write(
                to_parent,
                json.dumps(
                    [round.done_count, round.bytes, round.sum, round.errors, list(round.latencies.items())]
                ).encode(),
            )
            os._exit(0)
        os.close(to_parent)
        with os.fdopen(from_child) as result:
            round.done_count, round.bytes, round.sum, errors, times = json.load(result)
            round.errors.update(errors)
            round.latencies = dict(times)


cheat.run(WorksInChildren, "works-in-children")
