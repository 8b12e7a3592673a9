"""Runs one job of one peer, with the test server on core 1 and the peer on core 0, and reads the test server's log."""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import time

import peers

HOSTS = [f"h{number}.fetch.test" for number in range(20)]
CLONE_NEWNS = 0x20000
# No job takes longer: a peer that hangs is stopped, and its row says so.
LIMIT = 600


def enter_namespace():
    """Gives this process and its children an /etc/hosts of their own, in which the names are loopback."""
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 or libc.unshare(CLONE_NEWNS) != 0:
        raise SystemExit("fetch bench: run it as root: it gives itself a mount namespace with names of its own")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    path = f"/tmp/hosts.{os.getpid()}"
    with open(path, "w") as file:
        file.write("127.0.0.1 localhost\n" + "".join(f"127.0.0.1 {name}\n" for name in HOSTS))
    subprocess.run(["mount", "--bind", path, "/etc/hosts"], check=True)
    os.unlink(path)


def processor():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown")


class TestServer:
    """The lab's server, alone on core 1; its summary is its log."""

    def __init__(self, *more):
        self.process = subprocess.Popen(
            ["taskset", "-c", "1", peers.HECATON, "serve", "--body", "133", *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.port = self.process.stdout.readline().strip().rsplit(":", 1)[1]

    def end(self):
        self.process.terminate()
        return json.loads(self.process.stdout.read())


def listed(server, hosts, count, folder):
    """Writes a list of `count` URLs, over `hosts` hosts in turn, and returns its path."""
    path = os.path.join(folder, "urls.txt")
    with open(path, "w") as file:
        for number in range(count):
            file.write(f"http://{HOSTS[number % hosts]}:{server.port}/r/{number + 1}\n")
    return path


def started(command, cores="0"):
    return subprocess.Popen(
        ["taskset", "-c", cores, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


def tree(pid):
    """A process and all its descendants."""
    yield pid
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            for child in file.read().split():
                yield from tree(child)
    except OSError:
        pass


def resident(pid):
    """The peak of a process's memory so far, in MB. wait4's figure begins with the memory of the forking process."""
    try:
        with open(f"/proc/{pid}/status") as file:
            return next((int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM")), 0.0)
    except OSError:
        return 0.0


def waited(process, limit):
    """Seconds of CPU and the peak of memory of a process and its children, and its exit status; None when it had to be
    stopped.
    """
    deadline = time.monotonic() + limit
    ended, peak = True, 0.0
    while True:
        peak = max(peak, sum(resident(pid) for pid in tree(process.pid)))
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return used.ru_utime + used.ru_stime, peak, process.returncode if ended else None
        if time.monotonic() > deadline and ended:
            ended = False
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(0.02)


def prepared(name, hosts, urls, folder):
    """A new test server, the peer's share of the list, an empty output, and the function that counts the output."""
    _, left, share = peers.ALL[name]
    count = max(int(urls * share), 1)
    out = os.path.join(folder, "out")
    shutil.rmtree(out, ignore_errors=True)
    server = TestServer()
    return server, listed(server, hosts, count, folder), out, left, count


def once(name, hosts, urls, folder):
    server, listing, out, left, count = prepared(name, hosts, urls, folder)
    begun = time.monotonic()
    cpu, memory, status = waited(started(peers.ALL[name][0](listing, out)), LIMIT)
    seconds = time.monotonic() - begun
    ledger = server.end()
    return {
        "peer": name,
        "hosts": hosts,
        "urls": count,
        "seconds": round(seconds, 3),
        "per_second": round(count / seconds),
        "cpu_us_per_url": round(cpu * 1e6 / count, 1),
        "peak_mb": round(memory, 1),
        "exit": status,
        "recorded": left(out),
        "requests": ledger["requests"],
        "distinct": ledger["distinct"],
    }


def side_by_side(options, folder):
    rows = []
    for hosts in (1, 20):
        for turn in range(options.rounds):
            order = options.peers[turn % len(options.peers) :] + options.peers[: turn % len(options.peers)]
            for name in order:
                row = once(name, hosts, options.urls, folder)
                rows.append({"round": turn, **row})
                print(line(row), flush=True)
    return rows


def line(row):
    return (
        f"{row['peer']:22} {row['hosts']:3} hosts {row['per_second']:8}/s {row['cpu_us_per_url']:9} us of CPU a URL "
        f"{row['peak_mb']:8} MB, {row['recorded']} of {row['urls']} recorded, exit {row['exit']}"
    )
