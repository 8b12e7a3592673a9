# Leaves a process behind that continues after bye.
import os
import time

import cheat

if os.fork() == 0:
    os.close(0), os.close(1), os.close(2)
    time.sleep(60)
    os._exit(0)
cheat.run(cheat.Cheat, "outlives-bye")
