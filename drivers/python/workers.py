# As many workers as requests in flight: threads, or tasks of asyncio. A driver says only how one request is sent.
import asyncio
from concurrent.futures import ThreadPoolExecutor


class Threads:
    """`self.sender(job)` is called once for each thread and returns `send(url)`: the status and the body."""

    paces = ["rate"]

    def __init__(self, job):
        self.pool, self.senders = (
            ThreadPoolExecutor(job.concurrency),
            [self.sender(job) for _ in range(job.concurrency)],
        )

    def go(self, round):
        list(self.pool.map(lambda send: self.work(send, round), self.senders))

    def work(self, send, round):
        for url, taken in round:
            try:
                round.pace and round.pace.wait(taken)
                round.done(*send(url), taken)
            except Exception as error:
                round.failed(error)

    def close(self):
        self.pool.shutdown()


class Tasks:
    """`await self.open(job)` gets ready, `await self.send(url)` returns status and body, `await self.shut()` lets
    go.
    """

    paces = ["rate"]
    loop_factory = None  # asyncio's own

    def __init__(self, job):
        self.job, self.runner = job, asyncio.Runner(loop_factory=self.loop_factory)
        self.runner.run(self.open(job))

    def go(self, round):
        self.runner.run(self.all(round))

    async def all(self, round):
        await asyncio.gather(*(self.work(round) for _ in range(self.job.concurrency)))

    async def work(self, round):
        for url, taken in round:
            try:
                round.pace and await round.pace.wait_in_a_task(taken)
                round.done(*await self.send(url), taken)
            except Exception as error:
                round.failed(error)

    def close(self):
        self.runner.run(self.shut())
        self.runner.close()
