# ab, Apache's load generator: HTTP/1.0 with keep-alive; counts responses whose length changes, looks at no body.
import kit


class Ab(kit.Tool):
    about = {"name": "ab", "version": "2.3", "engine": "apr", "http": ["1.0"], "keepalive": [True, False]}

    def command(job, concurrency, count):
        keepalive = ["-k"] if job["keepalive"] else []
        return [
            "ab",
            "-q",
            "-S",
            "-d",
            "-r",
            *keepalive,
            "-n",
            count,
            "-c",
            concurrency,
            "-s",
            job["timeout_ms"] // 1000 + 1,
            job["url"],
        ]

    def result(text):
        failed = kit.number(r"^Failed requests: +(\d+)", text) + kit.number(r"^Non-2xx responses: +(\d+)", text)
        return (
            kit.number(r"^Complete requests: +(\d+)", text) - failed,
            kit.number(r"^HTML transferred: +(\d+)", text),
        )


Ab.run()
