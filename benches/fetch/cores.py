#!/usr/bin/env python3
"""Simulates a job on more cores than this machine has: the speed-up that its plan allows, and what limits it.

Usage: benches/fetch/cores.py
The parts are those that `hecaton fetch plan` makes of a list of a tenth of the size, with parts of a tenth of the size.
Each thread takes the next part when it may, as `run/shared.rs` says: at most 32 parts are open, and each thread has
its share of them. A thread has a core of its own. The figures of a part are those of `COST`.
"""

import collections
import json
import os
import random
import subprocess
import tempfile

import peers

# Seconds. The CPU time of an input is about what the runs of docs/results/2026-11-23-fetch-memory took. The times to
# open and finish a part, and of one fsync, are assumptions.
COST = {"input": 16e-6, "part": 0.1, "fsync": 2e-3}
# The end of a part syncs, one after the other: the attempt and its folder, the segment, the results, COMMIT, two
# folders.
FSYNCS_OF_A_PART = 7
MOST_OPEN = 32
CORES = (1, 2, 4, 8, 16, 64)
INPUTS = 10_000_000
SCALE = 10


def shapes():
    draw = random.Random(3)
    weights = [1 / rank for rank in range(1, 10_001)]
    return {
        "one host": lambda count: (0 for _ in range(count)),
        "20 hosts": lambda count: (number % 20 for number in range(count)),
        "10,000 hosts, alike": lambda count: (number % 10_000 for number in range(count)),
        "10,000 hosts, Zipf": lambda count: draw.choices(range(10_000), weights, k=count),
    }


def parts(hosts, part_size):
    """The inputs of each part, in the order in which they are taken."""
    with tempfile.TemporaryDirectory() as folder:
        listing, out = os.path.join(folder, "urls.txt"), os.path.join(folder, "out")
        with open(listing, "w") as file:
            for number, host in enumerate(hosts(INPUTS // SCALE)):
                file.write(f"http://h{host}.fetch.test/r/{number}\n")
        command = [peers.HECATON, "fetch", "plan", listing, "-o", out, "--i-own-these-hosts"]
        subprocess.run([*command, "--part-size", str(part_size // SCALE)], check=True, capture_output=True)
        with open(os.path.join(out, "plan.json")) as file:
            return [part["inputs"] * SCALE for part in json.load(file)["parts"]]


def makespan(inputs, cores):
    """Seconds until the last part is done, when each thread does its open parts in turns."""
    most = max(1, -(-min(MOST_OPEN, len(inputs)) // cores))
    left = collections.deque(size * COST["input"] + COST["part"] for size in inputs)
    threads = [[] for _ in range(min(cores, len(inputs)))]
    now = 0.0
    while True:
        for _ in range(most):
            for thread in threads:
                if left and len(thread) < most and not (len(thread) and len(thread) > min(map(len, threads))):
                    thread.append(left.popleft())
        if not any(threads):
            break
        # Advances to the end of the next part on any thread. A thread divides its time equally among its parts.
        step = min(min(thread) * len(thread) for thread in threads if thread)
        now += step
        for thread in threads:
            share = step / max(1, len(thread))
            thread[:] = [work - share for work in thread if work - share > 1e-9]
    return now


def limit(inputs, cores, seconds):
    alone = sum(inputs) * COST["input"]
    if max(inputs) * COST["input"] > 0.9 * seconds:
        return "the largest part"
    if len(inputs) < 2 * cores and alone / cores < 0.9 * seconds:
        return "few parts"
    return "cores"


def main():
    cores = [f"{cores} cores" for cores in CORES]
    columns = ["list", "part size", "parts", *cores, "limit at 64", "fsyncs a second at 64"]
    print(f"| {' | '.join(columns)} |")
    print("| --- " * (5 + len(CORES)) + "|")
    for name, hosts in shapes().items():
        for part_size in (100_000, 20_000):
            inputs = parts(hosts, part_size)
            alone = makespan(inputs, 1)
            times = [makespan(inputs, cores) for cores in CORES]
            # Open segments are synced each second, and each part at its end.
            fsyncs = min(MOST_OPEN, len(inputs)) + len(inputs) * FSYNCS_OF_A_PART / times[-1]
            shown = " | ".join(f"{alone / seconds:.1f} ×" for seconds in times)
            limited = limit(inputs, 64, times[-1])
            print(f"| {name} | {part_size:,} | {len(inputs)} | {shown} | {limited} | {fsyncs:.0f} |", flush=True)


if __name__ == "__main__":
    main()
