# When the requests of a `go` at a rate are due, on the clock that times them.
import asyncio
import time


class Pace:
    def __init__(self, command):  # `start` is on the wall clock; `due` is a file with an offset in microseconds each
        self.start = time.perf_counter_ns() + command["start"] * 1000 - time.time_ns()
        self.rate = command["rate"]
        self.offsets = [int(line) for line in open(command["due"])] if "due" in command else None

    def due(self, position):
        return self.start + (self.offsets[position] * 1000 if self.offsets else int(position * 1e9 / self.rate))

    @staticmethod
    def left(due):  # Seconds until then.
        return (due - time.perf_counter_ns()) / 1e9

    def wait(self, due):
        while (left := self.left(due)) > 0:
            time.sleep(left)

    async def wait_in_a_task(self, due):
        while (left := self.left(due)) > 0:
            await asyncio.sleep(left)
