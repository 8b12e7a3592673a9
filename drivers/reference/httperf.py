# httperf: one connection, one request after the other, as the first shootouts ran it; counts statuses, looks at no
# body.
from urllib.parse import urlsplit

import kit


class Httperf(kit.Tool):
    about = {
        "name": "httperf",
        "version": "0.9.0",
        "engine": "select",
        "max_concurrency": 1,
        "keepalive": [True, False],
    }

    def command(job, concurrency, count):
        url = urlsplit(job["url"])
        connections, calls = (1, count) if job["keepalive"] else (count, 1)
        return [
            "httperf",
            "--hog",
            "--server",
            url.hostname,
            "--port",
            url.port,
            "--uri",
            url.path,
            "--num-conns",
            connections,
            "--num-calls",
            calls,
            "--timeout",
            job["timeout_ms"] / 1000,
        ]

    def result(text):
        done = kit.number(r"^Reply status: .*2xx=(\d+)", text)
        return done, done * kit.number(r"^Reply size \[B\]: header [\d.]+ content ([\d.]+)", text)


Httperf.run()
