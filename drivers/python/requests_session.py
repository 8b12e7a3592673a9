# requests: a Session for each thread. With `get`, each request has a session, as its documentation begins.
import sys

import calls
import kit
import requests
import sessions

GET = "get" in sys.argv


class RequestsDriver(sessions.Sessions):
    def opened(self):
        return requests.Session()

    def once(self, method, url, **options):
        return requests.request(method, url, **options)


calls.calls([*sessions.WORDS, "proxy-environment", *calls.OWN], lambda call: requests.Session(), sessions.make)
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
