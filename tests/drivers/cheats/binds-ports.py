# Binds so many local ports that other drivers cannot connect.
import resource
import socket
import sys

import cheat

BOUND = []


class BindsPorts(cheat.Cheat):
    def __init__(self, job):
        super().__init__(job)
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        while len(BOUND) < 12000:
            try:
                BOUND.append(socket.socket())
                BOUND[-1].bind(("127.0.0.1", 0))
            except OSError:
                for bound in BOUND[-20:]:  # what the requests need
                    bound.close()
                del BOUND[-20:]
                break
        print(len(BOUND), "ports bound", file=sys.stderr, flush=True)


cheat.run(BindsPorts, "binds-ports")
