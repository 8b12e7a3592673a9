# wrk: sends for a second, however many requests `go` names; counts statuses, looks at no body.
import kit


class Wrk(kit.Tool):
    about = {"name": "wrk", "version": "4", "engine": "ae, http-parser"}
    counts = False

    def command(job, concurrency, count):
        return [
            "wrk",
            "-t",
            1,
            "-c",
            concurrency,
            "-d",
            1,
            "--timeout",
            job["timeout_ms"] // 1000 + 1,
            "-s",
            "wrk.lua",
            job["url"],
        ]

    def result(text):
        return kit.number(r"^done (\d+)", text), 0  # it counts bytes with their heads


Wrk.run()
