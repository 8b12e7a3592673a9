"""Memory of a run at one, three and ten million inputs, on one host and on ten thousand."""

import os
import shutil
import time

import jobs
import peers

MILLIONS = (1, 3, 10)
HOSTS = (1, 10_000)


def at_sizes(options, folder):
    """The peak of each job's memory from its first request to its end. Planning is a process of its own."""
    rows = []
    for hosts in HOSTS:
        for millions in MILLIONS:
            row = at_size(hosts, millions * 10 * options.urls, folder)
            rows.append(row)
            print(row, flush=True)
    return rows


def at_size(hosts, count, folder):
    server = jobs.TestServer()
    names = [f"m{number}.fetch.test" for number in range(hosts)]
    listing, out = os.path.join(folder, "urls.txt"), os.path.join(folder, "out")
    with open("/etc/hosts", "w") as file:
        file.write("127.0.0.1 localhost\n" + "".join(f"127.0.0.1 {name}\n" for name in names))
    with open(listing, "w") as file:
        for number in range(count):
            file.write(f"http://{names[number % hosts]}:{server.port}/r/{number + 1}\n")
    shutil.rmtree(out, ignore_errors=True)
    settings = ["--i-own-these-hosts", "--per-host", str(peers.CONCURRENCY), "--quiet"]
    plan = jobs.started([peers.HECATON, "fetch", "plan", listing, "-o", out, *settings[:3]], "0,1")
    _, plan_mb, planned = jobs.waited(plan, 10 * jobs.LIMIT)
    begun = time.monotonic()
    run = jobs.started([peers.HECATON, "fetch", "-o", out, *settings], "0,1")
    cpu, run_mb, status = jobs.waited(run, 10 * jobs.LIMIT)
    seconds = time.monotonic() - begun
    ledger = server.end()
    shutil.rmtree(out)
    return {
        "hosts": hosts,
        "urls": count,
        "plan_mb": round(plan_mb, 1),
        "run_mb": round(run_mb, 1),
        "seconds": round(seconds, 1),
        "cpu_us_per_url": round(cpu * 1e6 / count, 1),
        "exits": [planned, status],
        "requests": ledger["requests"],
    }
