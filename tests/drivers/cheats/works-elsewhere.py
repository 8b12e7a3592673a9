# Has the work done by a process that has left its group, its session and its parent, and waits for the result.
import json
import os
import sys

import cheat


def detached():
    (ask, to_child), (to_parent, answer) = os.pipe(), os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() > 0:
            os._exit(0)
        os.dup2(ask, 0), os.dup2(answer, 1)
        cheat.run(cheat.Cheat, "works-elsewhere")
        os._exit(0)
    os.wait()
    return os.fdopen(to_child, "w", buffering=1), os.fdopen(to_parent)


ask, answer = detached()
for line in sys.stdin:
    ask.write(line)
    print(answer.readline(), end="", flush=True)
    if json.loads(line)["cmd"] == "bye":
        break
