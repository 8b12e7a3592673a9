# h2load, nghttp2's load generator, over HTTP/1.1 or HTTP/2: counts statuses, looks at no body, verifies no certificate.
import kit


class H2load(kit.Tool):
    about = {"name": "h2load", "version": "nghttp2", "engine": "nghttp2, llhttp", "http": ["1.1", "2"], "tls": True}

    def command(job, concurrency, count):
        # Over HTTP/2 all requests in flight are streams of one connection.
        connections = ["-c", 1, "-m", concurrency] if job.get("http") == "2" else ["--h1", "-c", concurrency]
        return [
            "h2load",
            *connections,
            "-t",
            1,
            "-n",
            count,
            "-T",
            job["timeout_ms"] // 1000 + 1,
            job["url"],
        ]

    def result(text):
        return kit.number(r"^status codes: (\d+) 2xx", text), kit.number(
            r"headers \(space.*?\), [^,]*?\((\d+)\) data", text
        )


H2load.run()
