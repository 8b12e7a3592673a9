# requests: as many threads as requests in flight, each with a Session of its own; `get` is as its documentation begins.
import sys

import asks
import kit
import requests
import workers

GET = "get" in sys.argv


class RequestsDriver(workers.Threads):
    def sender(self, job):
        session = requests.Session()
        session.headers.update({} if job.differs else job.headers)
        session.trust_env = False  # no proxy of the environment, and no look at it for each request
        trust = job.ca or True

        def send(url):
            method, headers, body = job.request()
            if job.keepalive:
                own = headers if job.differs else None
                response = session.request(method, url, data=body, timeout=job.timeout, headers=own, verify=trust)
            else:  # as the quickstart does it: a session for each request
                response = requests.request(
                    method, url, data=body, timeout=job.timeout, headers=headers, verify=trust
                )
            return response.status_code, response.content

        return send


def ask(session, call):
    follow = {} if call.follow is None else {"allow_redirects": call.follow}
    response = session.request(
        call.method,
        call.url,
        headers=call.fields,
        data=call.body,
        timeout=call.timeout,
        verify=call.ca or True,
        proxies=call.proxy and {"http": call.proxy, "https": call.proxy},
        **follow,
    )
    return response.status_code, response.content


WORDS = ["method", "body", "fields", "timeout", "redirects", "cookies", "gzip", "raw-url", "tls"]
WORDS += ["proxy", "proxy-environment", *asks.OWN]
asks.asks(WORDS, lambda call: requests.Session(), ask)
kit.run(
    RequestsDriver,
    name="requests-get" if GET else "requests",
    version=requests.__version__,
    engine="urllib3",
    models=["threads"],
    keepalive=[False] if GET else [True, False],
    sends=["fields", "body"],
    knows=kit.EACH_REQUEST,
    max_concurrency=512,
)
