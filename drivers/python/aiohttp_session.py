# aiohttp: one ClientSession on asyncio, as many tasks as requests in flight.
import aiohttp, kit, workers


class AiohttpDriver(workers.Tasks):
    async def open(self, job):
        connector = aiohttp.TCPConnector(limit=job.concurrency, force_close=not job.keepalive)  # 100 unless told
        timeout = aiohttp.ClientTimeout(total=job.timeout)
        self.session = aiohttp.ClientSession(connector=connector, timeout=timeout, headers=job.headers)
        self.session._retry_connection = False  # else a GET on a connection that was closed is sent again without a word

    async def send(self, url):
        async with self.session.request(self.job.method, url) as answer:
            return answer.status, await answer.read()

    async def shut(self):
        await self.session.close()


kit.run(AiohttpDriver, name="aiohttp", version=aiohttp.__version__, engine="llhttp", models=["async"],
        max_concurrency=1000)
