# When the requests of a `go` at a rate are due, on the clock that times them.
import asyncio
import time


class Pace:
    def __init__(self, ask):  # `start` is on the clock of the day; `due` is a file with an offset in microseconds each
        self.start = time.perf_counter_ns() + ask["start"] * 1000 - time.time_ns()
        self.rate = ask["rate"]
        self.offsets = [int(line) for line in open(ask["due"])] if "due" in ask else None

    def due(self, place):
        return self.start + (self.offsets[place] * 1000 if self.offsets else int(place * 1e9 / self.rate))

    @staticmethod
    def left(due):  # Seconds until then.
        return (due - time.perf_counter_ns()) / 1e9

    def wait(self, due):
        while (left := self.left(due)) > 0:
            time.sleep(left)

    async def wait_in_a_task(self, due):
        while (left := self.left(due)) > 0:
            await asyncio.sleep(left)
