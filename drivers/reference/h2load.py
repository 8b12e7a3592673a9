# h2load, nghttp2's load generator, over HTTP/1.1: counts statuses, looks at no body.
import kit


class H2load(kit.Tool):
    about = {"name": "h2load", "version": "nghttp2", "engine": "nghttp2, llhttp"}

    def command(job, concurrency, count):
        return [
            "h2load",
            "--h1",
            "-t",
            1,
            "-n",
            count,
            "-c",
            concurrency,
            "-T",
            job["timeout_ms"] // 1000 + 1,
            job["url"],
        ]

    def result(text):
        return kit.number(r"^status codes: (\d+) 2xx", text), kit.number(
            r"headers \(space.*?\), [^,]*?\((\d+)\) data", text
        )


H2load.run()
