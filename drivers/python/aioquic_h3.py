# aioquic: a connection of HTTP/3 on asyncio, as in its example http3_client.py. Each request in flight has a stream.
# HTTP/1.1, which aioquic does not have, is aiohttp's.
import asyncio
import importlib.metadata
import ssl
from urllib.parse import urlsplit

import aiohttp
import kit
import workers
from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, ErrorCode, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, StreamReset


class Response:
    def __init__(self, done):
        self.done, self.status, self.body = done, 0, bytearray()


class Connection(QuicConnectionProtocol):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.http, self.open, self.responses = H3Connection(self._quic), True, {}

    async def request(self, method, url, fields):
        parts = urlsplit(url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        head = {":method": method, ":scheme": parts.scheme, ":authority": parts.netloc, ":path": path, **fields}
        stream = self._quic.get_next_available_stream_id()
        self.responses[stream] = response = Response(self._loop.create_future())
        self.http.send_headers(stream, [(k.lower().encode(), v.encode()) for k, v in head.items()], end_stream=True)
        self.transmit()
        try:
            await response.done
        except asyncio.CancelledError:  # by its timeout
            self._quic.stop_stream(stream, ErrorCode.H3_REQUEST_CANCELLED)
            self.transmit()
            raise
        finally:
            del self.responses[stream]
        return response.status, bytes(response.body)

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated):
            self.open = False
            for response in self.responses.values():
                self.fail(response, f"connection {event.error_code:#x}")
        elif isinstance(event, StreamReset) and event.stream_id in self.responses:
            self.fail(self.responses[event.stream_id], f"stream {event.error_code:#x}")
        for part in self.http.handle_event(event):
            response = self.responses.get(getattr(part, "stream_id", None))
            if response is None:
                continue
            if isinstance(part, HeadersReceived):
                response.status = int(dict(part.headers).get(b":status", response.status))
            elif isinstance(part, DataReceived):
                response.body += part.data
            if part.stream_ended and not response.done.done():
                response.done.set_result(None)

    def fail(self, response, why):
        if not response.done.done():
            response.done.set_exception(ConnectionError(why))


class OverHttp3:  # All requests share one connection, or each has its own.
    def __init__(self, job):
        self.job, self.lent, self.opening = job, None, None

    def connect(self, url):
        parts, settings = urlsplit(url), QuicConfiguration(alpn_protocols=H3_ALPN)
        if self.job.ca:
            settings.load_verify_locations(cafile=self.job.ca)
        return connect(parts.hostname, parts.port, configuration=settings, create_protocol=Connection)

    async def shared(self, url):  # The connection; those that wait for it fail together.
        if self.opening is None or self.opening.done() and not self.is_open():
            self.opening = asyncio.ensure_future(self.open(url))
        return await asyncio.shield(self.opening)

    def is_open(self):
        return not self.opening.exception() and self.opening.result().open

    async def open(self, url):
        await self.close()
        lent = self.connect(url)
        connection = await lent.__aenter__()
        self.lent = lent
        return connection

    async def send(self, url):
        async with asyncio.timeout(self.job.timeout):
            if self.job.keepalive:
                return await (await self.shared(url)).request(self.job.method, url, self.job.headers)
            async with self.connect(url) as connection:
                return await connection.request(self.job.method, url, self.job.headers)

    async def close(self):
        lent, self.lent = self.lent, None
        if lent:
            await lent.__aexit__(None, None, None)


class OverHttp1:
    def __init__(self, job):
        trust = {"ssl": ssl.create_default_context(cafile=job.ca)} if job.ca else {}
        connector = aiohttp.TCPConnector(force_close=not job.keepalive, limit=job.concurrency, **trust)
        timeout = aiohttp.ClientTimeout(total=job.timeout)
        self.method, self.session = (
            job.method,
            aiohttp.ClientSession(connector=connector, timeout=timeout, headers=job.headers),
        )
        self.session._retry_connection = False  # else a GET on a closed connection is sent again without a word

    async def send(self, url):
        async with self.session.request(self.method, url) as response:
            return response.status, await response.read()

    async def close(self):
        await self.session.close()


class AioquicDriver(workers.Tasks):
    async def open(self, job):
        self.client = OverHttp3(job) if getattr(job, "http", None) == "3" else OverHttp1(job)

    async def send(self, url):
        return await self.client.send(url)

    async def shut(self):
        await self.client.close()


kit.run(
    AioquicDriver,
    name="aioquic",
    version=importlib.metadata.version("aioquic"),
    engine="aioquic",
    http=["1.1", "3"],
    models=["async"],
    max_concurrency=1000,
)
