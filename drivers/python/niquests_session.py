# niquests: as many threads as requests in flight, each with a Session of its own.
import asks
import kit
import niquests
import workers

HTTP1 = {"disable_http2": True, "disable_http3": True}


def opened():
    session = niquests.Session(**HTTP1)
    session.trust_env = False  # no proxy of the environment, and no look at it for each request
    return session


class NiquestsDriver(workers.Threads):
    def sender(self, job):
        session, trust = opened(), job.ca or True

        def request(session, url):
            method, headers, body = job.request()
            response = session.request(method, url, data=body, timeout=job.timeout, headers=headers, verify=trust)
            return response.status_code, response.content

        def send(url):
            if job.keepalive:
                return request(session, url)
            with opened() as own:  # as the quickstart does it: a session for each request
                return request(own, url)

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


WORDS = ["method", "body", "fields", "timeout", "redirects", "cookies", "gzip", "raw-url", "tls", "proxy", *asks.OWN]
asks.asks(WORDS, lambda call: niquests.Session(**HTTP1), ask)
kit.run(
    NiquestsDriver,
    name="niquests",
    version=niquests.__version__,
    engine="urllib3-future",
    models=["threads"],
    sends=["fields", "body"],
    knows=kit.EACH_REQUEST,
    max_concurrency=512,
)
