# urllib3: as many threads as requests in flight, which share one PoolManager; `tuned` keeps a connection for each.
import logging
import sys

import calls
import kit
import urllib3
import workers

TUNED = "tuned" in sys.argv


class Urllib3Driver(workers.Threads):
    def __init__(self, job):
        # The default keeps one connection of a host; its documentation recommends `maxsize` for threads.
        pool = {"maxsize": job.concurrency, "block": True} if TUNED else {}
        self.http = urllib3.PoolManager(retries=False, timeout=job.timeout, ca_certs=job.ca, **pool)
        self.headers = job.headers if job.keepalive else {**job.headers, "Connection": "close"}
        super().__init__(job)

    def sender(self, job):
        def send(url):
            response = self.http.request(job.method, url, headers=self.headers)
            return response.status, response.data

        return send

    def close(self):
        super().close()
        self.http.clear()


def make(http, call):
    follow = {} if call.follow is None else {"redirect": call.follow}
    response = http.request(
        call.method, call.url, headers=call.fields or None, body=call.body, timeout=call.timeout, **follow
    )
    return response.status, response.data


def open_pool(call):
    size = {"maxsize": call.pool_size, "block": True} if call.pool_size else {}
    if not call.proxy:
        return urllib3.PoolManager(ca_certs=call.ca, **size)
    user = urllib3.util.parse_url(call.proxy).auth
    login = urllib3.make_headers(proxy_basic_auth=user) if user else None
    return urllib3.ProxyManager(call.proxy, proxy_headers=login, ca_certs=call.ca, **size)


WORDS = ["method", "body", "fields", "timeout", "redirects", "gzip", "raw-url", "tls", "proxy", "pool-size", *calls.OWN]
calls.calls(WORDS, open_pool, make)
logging.disable()  # it warns of every connection that it throws away
kit.run(
    Urllib3Driver,
    name="urllib3-tuned" if TUNED else "urllib3",
    version=urllib3.__version__,
    engine="http.client",
    models=["threads"],
    max_concurrency=512,
)
