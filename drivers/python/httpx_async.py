# httpx: one AsyncClient on asyncio, as many tasks as requests in flight.
import httpx, kit, workers


class HttpxDriver(workers.Tasks):
    async def open(self, job):
        kept = job.concurrency if job.keepalive else 0  # of idle connections, httpx keeps 20 unless told
        limits = httpx.Limits(max_connections=job.concurrency, max_keepalive_connections=kept, keepalive_expiry=job.timeout)
        self.client = httpx.AsyncClient(limits=limits, timeout=job.timeout, headers=job.headers, trust_env=False)

    async def send(self, url):
        answer = await self.client.request(self.job.method, url)
        return answer.status_code, answer.content

    async def shut(self):
        await self.client.aclose()


kit.run(HttpxDriver, name="httpx", version=httpx.__version__, engine="httpcore, h11", models=["async"],
        max_concurrency=1000)
