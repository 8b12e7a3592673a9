"""One thread against two on the same two cores, which the test server has too."""

import os
import shutil
import subprocess
import time

import jobs
import peers

MANY = ["-c", "1000", "--per-host", "1000"]
# Name: (arguments of the server, arguments of the job, share of the URLs).
LOADS = {
    "small responses": (["--body", "133"], [], 2),
    "after 20 ms": (["--body", "133", "--delay", "20ms"], MANY, 2),
    "16 KiB, read": (["--body", "16384"], ["--take", "x=re:(zzz+)"], 1),
    "16 KiB, read, after 20 ms": (["--body", "16384", "--delay", "20ms"], [*MANY, "--take", "x=re:(zzz+)"], 1),
}
THREADS = (1, 2)


def one_and_two(options, folder):
    rows = []
    for name, (serve, job, share) in LOADS.items():
        for turn in range(options.rounds):
            for threads in THREADS if turn % 2 == 0 else THREADS[::-1]:
                row = once(serve, [*job, "--threads", str(threads)], int(options.urls * share), folder)
                rows.append({"load": name, "round": turn, "threads": threads, **row})
                print(rows[-1], flush=True)
    return rows


def once(serve, more, count, folder):
    server = Server(*serve)
    listing, out = jobs.listed(server, 20, count, folder), os.path.join(folder, "out")
    shutil.rmtree(out, ignore_errors=True)
    # Parts of a tenth of the list, planned before.
    settings = ["--i-own-these-hosts", "--per-host", str(peers.CONCURRENCY)]
    plan = [peers.HECATON, "fetch", "plan", listing, "-o", out, *settings, "--part-size", str(count // 10)]
    extra = [argument for argument in more if argument.startswith("x=") or argument == "--take"]
    jobs.waited(jobs.started([*plan, *extra], "0,1"), jobs.LIMIT)
    tuning = [argument for argument in more if argument not in extra]
    begun = time.monotonic()
    command = [peers.HECATON, "fetch", "-o", out, "--quiet", *tuning]
    cpu, memory, status = jobs.waited(jobs.started(command, "0,1"), jobs.LIMIT)
    seconds = time.monotonic() - begun
    ledger = server.end()
    return {
        "urls": count,
        "per_second": round(count / seconds),
        "cpu_us_per_url": round(cpu * 1e6 / count, 1),
        "peak_mb": round(memory, 1),
        "exit": status,
        "distinct": ledger["distinct"],
        "machine_load": round(os.getloadavg()[0], 1),
    }


class Server(jobs.TestServer):
    """The test server on both cores, with these arguments alone."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [peers.HECATON, "serve", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.port = self.process.stdout.readline().strip().rsplit(":", 1)[1]
