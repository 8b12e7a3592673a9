# pycurl: one CurlMulti that refills itself, as its example retriever-multi.py does; the handles are used again.
import io, kit, pycurl


class PycurlDriver:
    def __init__(self, job):
        self.multi, self.idle = pycurl.CurlMulti(), [pycurl.Curl() for _ in range(job.concurrency)]
        self.multi.setopt(pycurl.M_MAXCONNECTS, job.concurrency)
        options = {"NOSIGNAL": 1, "TIMEOUT_MS": job.timeout_ms, "CUSTOMREQUEST": job.method, "NOBODY": job.method == "HEAD",
                   "HTTPHEADER": [f"{k}: {v}" for k, v in job.headers.items()], "FORBID_REUSE": not job.keepalive, "PROXY": ""}
        for handle, name in ((handle, name) for handle in self.idle for name in options):
            handle.setopt(getattr(pycurl, name), options[name])

    def go(self, round):
        requests, running, ended = iter(round), 0, []
        while True:
            while self.idle and (request := next(requests, None)):
                self.start(self.idle.pop(), *request)
                running += 1
            if not running:
                return
            if not ended:
                self.multi.select(1.0)
            self.multi.perform()
            _, done, failed = self.multi.info_read()
            ended = [(handle, None) for handle in done] + [(handle, f"curl {code}") for handle, code, _ in failed]
            for handle, error in ended:
                self.multi.remove_handle(handle)
                status = handle.getinfo(pycurl.RESPONSE_CODE)
                round.failed(error) if error else round.done(status, handle.body.getvalue(), handle.taken)
                self.idle.append(handle)
            running -= len(ended)

    def start(self, handle, url, taken):
        handle.taken, handle.body = taken, io.BytesIO()
        handle.setopt(pycurl.URL, url)
        handle.setopt(pycurl.WRITEDATA, handle.body)
        self.multi.add_handle(handle)

    def close(self):
        self.multi.close()


version, engine = (word.partition("/")[2] for word in pycurl.version.replace('"', "").split()[:2])
kit.run(PycurlDriver, name="pycurl", version=version, engine=f"libcurl/{engine}", models=["events"], max_concurrency=1000,
        retries="fixed:5")  # libcurl sends again what a kept connection lost without an answer
