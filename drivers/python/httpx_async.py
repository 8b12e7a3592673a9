# httpx: one AsyncClient on asyncio, as many tasks as requests in flight; `tuned` keeps a connection for each.
import ssl
import sys

import calls
import httpx
import kit
import workers

TUNED = "tuned" in sys.argv


class HttpxDriver(workers.Tasks):
    async def open(self, job):
        # By default it opens 100 connections and holds 20 idle ones.
        limits = (
            {"max_connections": job.concurrency, "keepalive_expiry": job.timeout} if TUNED else {"max_connections": 100}
        )
        idle = (job.concurrency if TUNED else 20) if job.keepalive else 0
        limits = httpx.Limits(max_keepalive_connections=idle, **limits)
        trust = {"verify": ssl.create_default_context(cafile=job.ca)} if job.ca else {}
        self.client = httpx.AsyncClient(
            limits=limits, timeout=job.timeout, headers=job.headers, trust_env=False, **trust
        )

    async def send(self, url):
        response = await self.client.request(self.job.method, url)
        return response.status_code, response.content

    async def shut(self):
        await self.client.aclose()


async def make(client, call):
    response = await client.request(
        call.method,
        call.url,
        headers=call.fields,
        content=call.body,
        timeout=call.timeout,
        follow_redirects=call.follow is True,
    )
    return response.status_code, response.content


def open_client(call):
    trust = {"verify": ssl.create_default_context(cafile=call.ca)} if call.ca else {}
    return httpx.AsyncClient(trust_env=False, proxy=call.proxy, **trust)


words = "method body fields timeout redirects cookies gzip userinfo raw-url raw-method tls proxy parallel close".split()
calls.calls(words, open_client, make)
kit.run(
    HttpxDriver,
    name="httpx-tuned" if TUNED else "httpx",
    version=httpx.__version__,
    engine="httpcore, h11",
    models=["async"],
    max_concurrency=1000,
)
