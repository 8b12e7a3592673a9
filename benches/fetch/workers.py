"""Several workers at one job, which NATS hands out: their speed, and how soon a killed one is replaced."""

import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

import jobs
import peers

WAYS = {"one process, no queue": 0, "one worker": 1, "three workers": 3}
LEASE = 30


class Nats:
    """A queue of its own, on the test server's core."""

    def __init__(self):
        self.home = tempfile.TemporaryDirectory()
        ports = os.path.join(self.home.name, "ports")
        os.mkdir(ports)
        program = shutil.which("nats-server") or "/usr/sbin/nats-server"
        self.process = subprocess.Popen(
            [
                "taskset",
                "-c",
                "1",
                program,
                "-js",
                "-sd",
                self.home.name,
                "-a",
                "127.0.0.1",
                "-p",
                "-1",
                "--ports_file_dir",
                ports,
            ],
            stderr=subprocess.DEVNULL,
        )
        while not (found := [path for path in glob.glob(f"{ports}/*") if os.path.getsize(path)]):
            time.sleep(0.01)
        with open(found[0]) as file:
            self.url = json.load(file)["nats"][0]

    def end(self):
        self.process.kill()
        self.process.wait()
        self.home.cleanup()


def hecaton(*arguments):
    subprocess.run(
        [peers.HECATON, "fetch", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def planned(listing, out, size, more=()):
    """Plans a job of several parts, in a folder without an earlier job."""
    shutil.rmtree(out, ignore_errors=True)
    hecaton("plan", listing, "-o", out, "--i-own-these-hosts", "--per-host", "48", "--part-size", str(size), *more)


def worker(out, nats, cores):
    return jobs.started([peers.HECATON, "fetch", "worker", out, "--nats", nats.url, "--quiet"], cores)


def beside_one(options, folder):
    """The workers share core 0, or have all cores but the test server's, where there are more than two."""
    cores = "0" if os.cpu_count() < 4 else ",".join(str(core) for core in range(os.cpu_count()) if core != 1)
    rows = []
    for turn in range(options.rounds):
        names = list(WAYS)[turn % 3 :] + list(WAYS)[: turn % 3]
        rows += [{"round": turn, "cores": cores, **one_way(name, options.urls, folder, cores)} for name in names]
        print(json.dumps(rows[-3:]), flush=True)
    return rows


def one_way(name, urls, folder, cores):
    server, nats = jobs.TestServer(), Nats()
    listing, out = jobs.listed(server, 20, urls, folder), os.path.join(folder, "out")
    planned(listing, out, max(urls // 12, 100))
    if WAYS[name]:
        hecaton("enqueue", out, "--nats", nats.url)
    begun = time.monotonic()
    many = [worker(out, nats, cores) for _ in range(WAYS[name])] or [
        jobs.started([peers.HECATON, "fetch", "-o", out, "--quiet"], cores)
    ]
    ended = [jobs.waited(one, jobs.LIMIT) for one in many]
    seconds = time.monotonic() - begun
    nats.end()
    ledger = server.end()
    return {
        "way": name,
        "urls": urls,
        "seconds": round(seconds, 3),
        "per_second": round(urls / seconds),
        "cpu_us_per_url": round(sum(cpu for cpu, _, _ in ended) * 1e6 / urls, 1),
        "exits": [status for _, _, status in ended],
        "recorded": peers.records(out),
        "distinct": ledger["distinct"],
        "sent_again": ledger["requests"] - ledger["distinct"],
    }


def takeover(options, folder):
    """Kills one of three workers while it has parts, and measures when each part has its next attempt."""
    # The job must last for some seconds, because workers write down once a second which parts they hold.
    urls = max(options.urls // 2, 20_000)
    server, nats = jobs.TestServer("--delay", "5ms"), Nats()
    listing, out = jobs.listed(server, 20, urls, folder), os.path.join(folder, "out")
    # Each worker has few requests in flight, so it holds only a few parts, and the others have some left.
    planned(listing, out, max(urls // 16, 100), ("-c", "8"))
    hecaton("enqueue", out, "--nats", nats.url, "--lease", f"{LEASE}s")
    many = [worker(out, nats, "0") for _ in range(3)]
    held = []
    while not held and many[0].poll() is None:
        time.sleep(0.1)
        held = parts_of(out, many[0].pid)
    if not held:
        raise SystemExit("fetch bench: the first worker had no part: use more --urls")
    os.killpg(many[0].pid, signal.SIGKILL)
    begun = time.monotonic()
    jobs.waited(many[0], jobs.LIMIT)
    taken = {}
    while len(taken) < len(held) and time.monotonic() - begun < jobs.LIMIT:
        for part in set(held) - set(taken):
            if is_taken(out, part, held[part]):
                taken[part] = round(time.monotonic() - begun, 2)
        time.sleep(0.02)
    statuses = [jobs.waited(one, jobs.LIMIT)[2] for one in many[1:]]
    nats.end()
    ledger = server.end()
    return [
        {
            "urls": urls,
            "lease_seconds": LEASE,
            "parts_held": len(held),
            "taken_over_after_seconds": sorted(taken.values()),
            "exits": statuses,
            "recorded": peers.records(out),
            "distinct": ledger["distinct"],
            "sent_again": ledger["requests"] - ledger["distinct"],
        }
    ]


def parts_of(out, pid):
    """The parts that a worker has open, with their attempts, as the worker wrote them down."""
    for path in glob.glob(f"{out}/workers/*-{pid}.json"):
        try:
            with open(path) as file:
                return {view["part"]: view["attempt"] for view in json.load(file)["open"]}
        except (OSError, ValueError):
            pass  # It is being written anew.
    return {}


def is_taken(out, part, attempt):
    home = os.path.join(out, "parts", f"{part:06}")
    return os.path.exists(os.path.join(home, f"attempt-{attempt + 1}")) or os.path.exists(os.path.join(home, "COMMIT"))
