# pycurl: one CurlMulti that refills itself, as its example retriever-multi.py does; the handles are used again. Over
# HTTP/3, if this libcurl has it, they wait for a connection that they can share.
import io
import time

import calls
import kit
import pycurl

HTTP3 = "nghttp3" in pycurl.version


class PycurlDriver:
    paces = ["rate"]

    def __init__(self, job):
        self.multi, self.idle = pycurl.CurlMulti(), [pycurl.Curl() for _ in range(job.concurrency)]
        self.multi.setopt(pycurl.M_MAXCONNECTS, job.concurrency)
        options = {
            "NOSIGNAL": 1,
            "TIMEOUT_MS": job.timeout_ms,
            "CUSTOMREQUEST": job.method,
            "NOBODY": job.method == "HEAD",
            "HTTPHEADER": [f"{k}: {v}" for k, v in job.headers.items()],
            "FORBID_REUSE": not job.keepalive,
            "PROXY": "",
        }
        if getattr(job, "http", None) == "3":
            options |= {"HTTP_VERSION": pycurl.CURL_HTTP_VERSION_3ONLY, "PIPEWAIT": 1}
        for name, value in {**options, **({"CAINFO": job.ca} if job.ca else {})}.items():
            [handle.setopt(getattr(pycurl, name), value) for handle in self.idle]

    def go(self, round):
        self.requests, self.next = iter(round), None
        running, left = self.fill(round)
        while running or self.next:
            running or time.sleep(left)  # Nothing is in flight until the next request is due.
            self.multi.perform()
            _, done, failed = self.multi.info_read()
            for handle, code in [(handle, 0) for handle in done] + [(handle, code) for handle, code, _ in failed]:
                self.multi.remove_handle(handle)
                status = code or handle.getinfo(pycurl.RESPONSE_CODE)
                round.failed(f"curl {code}") if code else round.done(status, handle.body.getvalue(), handle.taken)
                self.idle.append(handle)
            started, left = self.fill(round)
            running += started - len(done) - len(failed)
            done or failed or started or self.multi.select(min(left or 1.0, 1.0))

    def fill(self, round):  # Starts what is due, as far as handles are idle: how many, and seconds until the next.
        started = 0
        while self.idle and (self.next or (request := next(self.requests, None))):
            url, taken = self.next = self.next or request
            if round.pace and (left := round.pace.left(taken)) > 0:
                return started, left
            handle, self.next = self.idle.pop(), None
            handle.taken, handle.body, started = taken, io.BytesIO(), started + 1
            handle.setopt(pycurl.URL, url)
            handle.setopt(pycurl.WRITEDATA, handle.body)
            self.multi.add_handle(handle)
        return started, 0.0

    def close(self):
        self.multi.close()


def make(curl, call):
    curl.reset()  # connections and cookies stay
    body, sent = io.BytesIO(), io.BytesIO(call.body or b"")
    post = ("POSTFIELDS", call.body or b"")
    method = {"POST": post, "HEAD": ("NOBODY", 1), "PUT": ("UPLOAD", 1), "GET": ("HTTPGET", 1)}
    options = [("URL", call.url), ("WRITEDATA", body), ("COOKIEFILE", ""), ("ENCODING", "gzip")]
    options += [("NOSIGNAL", 1), ("PROXY", "")]
    options += [("TIMEOUT_MS", int(call.timeout * 1000)), ("FOLLOWLOCATION", call.follow is True)]
    options += [("HTTPHEADER", [f"{name}: {value}" for name, value in call.fields.items()]), ("READDATA", sent)]
    for name, value in [*options, method.get(call.method, ("CUSTOMREQUEST", call.method))]:
        curl.setopt(getattr(pycurl, name), value)
    call.method == "PUT" and curl.setopt(pycurl.INFILESIZE, len(call.body or b""))
    curl.perform()
    return curl.getinfo(pycurl.RESPONSE_CODE), body.getvalue()


words = "method body fields timeout redirects cookies gzip userinfo raw-url raw-method".split()
calls.calls(words, lambda _: pycurl.Curl(), make)
kit.run(
    PycurlDriver,
    name="pycurl",
    version=pycurl.version.split()[0].partition("/")[2].strip('"'),
    models=["events"],
    engine=pycurl.version.split()[1],
    http=["1.1", "3"] if HTTP3 else ["1.1"],
    max_concurrency=1000,
    retries="fixed:5",
)  # on a keep-alive connection that is closed
