# aiohttp: one ClientSession on asyncio, as many tasks as requests in flight; `tuned` lifts its limit of
# connections, and `uvloop` takes that event loop too.
import ssl
import sys

import aiohttp
import calls
import kit
import workers

UVLOOP = "uvloop" in sys.argv
TUNED = UVLOOP or "tuned" in sys.argv
if UVLOOP:
    import uvloop


class AiohttpDriver(workers.Tasks):
    loop_factory = staticmethod(uvloop.new_event_loop) if UVLOOP else None

    async def open(self, job):
        limit = {"limit": job.concurrency} if TUNED else {}  # 100 by default
        trust = {"ssl": ssl.create_default_context(cafile=job.ca)} if job.ca else {}
        connector = aiohttp.TCPConnector(force_close=not job.keepalive, **limit, **trust)
        timeout = aiohttp.ClientTimeout(total=job.timeout)
        self.session = aiohttp.ClientSession(connector=connector, timeout=timeout, headers=job.headers)
        self.session._retry_connection = (
            False  # else a GET on a connection that was closed is sent again without a word
        )

    async def send(self, url):
        async with self.session.request(self.job.method, url) as response:
            return response.status, await response.read()

    async def shut(self):
        await self.session.close()


async def open_session(_):
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(**({"limit": 1000} if TUNED else {})))


async def make(session, call):
    options = {} if call.follow is None else {"allow_redirects": call.follow}
    limit = aiohttp.ClientTimeout(total=call.timeout)
    async with session.request(
        call.method, call.url, headers=call.fields, data=call.body, timeout=limit, **options
    ) as response:
        return response.status, await response.read()


calls.calls("method body fields timeout redirects cookies gzip userinfo raw-url raw-method".split(), open_session, make)
kit.run(
    AiohttpDriver,
    name="aiohttp-uvloop" if UVLOOP else "aiohttp-tuned" if TUNED else "aiohttp",
    version=f"{aiohttp.__version__} on uvloop {uvloop.__version__}" if UVLOOP else aiohttp.__version__,
    engine="llhttp",
    models=["async"],
    max_concurrency=1000,
)
