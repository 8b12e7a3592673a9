# Waits for the results of a process that does the work outside of its group, its session and its parent.
import json
import os
import sys

import cheat


def detached():
    (commands, to_child), (to_parent, results) = os.pipe(), os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() > 0:
            os._exit(0)
        os.dup2(commands, 0), os.dup2(results, 1)
        cheat.run(cheat.Cheat, "works-elsewhere")
        os._exit(0)
    os.wait()
    return os.fdopen(to_child, "w", buffering=1), os.fdopen(to_parent)


commands, results = detached()
for line in sys.stdin:
    commands.write(line)
    print(results.readline(), end="", flush=True)
    if json.loads(line)["cmd"] == "bye":
        break
