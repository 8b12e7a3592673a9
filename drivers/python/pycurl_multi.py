# pycurl: one CurlMulti that refills itself, as its example retriever-multi.py does; the handles are used again.
import io

import kit
import pycurl


class PycurlDriver:
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
        for name, value in {**options, **({"CAINFO": job.ca} if job.ca else {})}.items():
            [handle.setopt(getattr(pycurl, name), value) for handle in self.idle]

    def go(self, round):
        running = self.fill(round)
        while running:
            self.multi.perform()
            _, done, failed = self.multi.info_read()
            for handle, code in [(handle, 0) for handle in done] + [(handle, code) for handle, code, _ in failed]:
                self.multi.remove_handle(handle)
                status = code or handle.getinfo(pycurl.RESPONSE_CODE)
                round.failed(f"curl {code}") if code else round.done(status, handle.body.getvalue(), handle.taken)
                self.idle.append(handle)
            running += self.fill(round) - len(done) - len(failed)
            done or failed or self.multi.select(1.0)

    def fill(self, round):  # Starts as many requests as there are idle handles; returns how many.
        for handle, (url, handle.taken) in (started := list(zip(self.idle, round))):
            handle.body = io.BytesIO()
            handle.setopt(pycurl.URL, url)
            handle.setopt(pycurl.WRITEDATA, handle.body)
            self.multi.add_handle(handle)
        del self.idle[: len(started)]
        return len(started)

    def close(self):
        self.multi.close()


kit.run(
    PycurlDriver,
    name="pycurl",
    version=pycurl.version.split()[0].partition("/")[2].strip('"'),
    models=["events"],
    engine=pycurl.version.split()[1],
    max_concurrency=1000,
    retries="fixed:5",
)  # on a kept connection that is closed
