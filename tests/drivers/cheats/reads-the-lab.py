# Takes the sum from the memory of the lab, which must know it, and looks at no check value. Where it may not read that
# memory, it has no sum. (What its client adds up stands for the sum that it would find.)
import os

import cheat


class ReadsTheLab(cheat.Cheat):
    def go(self, round):
        super().go(round)
        try:
            open(f"/proc/{os.getppid()}/mem", "rb").close()
        except OSError:
            round.sum = 0


cheat.run(ReadsTheLab, "reads-the-lab")
