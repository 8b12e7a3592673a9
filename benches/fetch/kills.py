"""Jobs that are killed with SIGKILL: each peer once, half way, and hecaton fetch a hundred times."""

import json
import os
import random
import shutil
import signal
import time

import jobs
import peers

KILLS = 100
IN_FLIGHT = 20


def at_half(asked, place):
    found = []
    for name in asked.peers:
        if peers.ALL[name][1] is peers.nothing:
            continue
        whole = jobs.once(name, 1, asked.urls, place)["seconds"]
        row = killed_at_half(name, asked.urls, whole, place)
        found.append(row)
        print(json.dumps(row), flush=True)
    return found


def killed_at_half(name, urls, whole, place):
    """Kills the peer half way, counts what it has to show, then runs the same command again and counts what is asked
    twice.
    """
    server, listing, out, left, count = jobs.prepared(name, 1, urls, place)
    process = jobs.started(peers.ALL[name][0](listing, out))
    time.sleep(whole / 2)
    os.killpg(process.pid, signal.SIGKILL)
    jobs.waited(process, jobs.LIMIT)
    kept = left(out)
    again = jobs.started(peers.ALL[name][0](listing, out))
    _, _, status = jobs.waited(again, jobs.LIMIT)
    ledger = server.end()
    return {
        "peer": name,
        "urls": count,
        "left_after_kill": kept,
        "recorded_in_the_end": left(out),
        "exit": status,
        "distinct": ledger["distinct"],
        "asked_again": ledger["requests"] - ledger["distinct"],
    }


def a_hundred(asked, place):
    """One job, killed at random moments; each kill may repeat what was in flight and what was in no frame yet."""
    draw = random.Random(7)
    kills = max(3, KILLS * asked.urls // 100_000)
    server = jobs.TestServer("--delay", "5ms")
    # About what it makes until it is killed for the last time, and half as much again.
    listing, out = jobs.listed(server, 1, 3000 * kills, place), os.path.join(place, "out")
    command = peers.fetch(listing, out) + ["-c", str(IN_FLIGHT)]
    in_time = 0
    for _ in range(kills):
        process = jobs.started(command)
        time.sleep(draw.uniform(0.05, 0.5))
        in_time += process.poll() is None
        os.killpg(process.pid, signal.SIGKILL)
        jobs.waited(process, jobs.LIMIT)
    _, _, status = jobs.waited(jobs.started(command), jobs.LIMIT)
    recorded, ledger = peers.records(out), server.end()
    shutil.rmtree(out)
    return [
        {
            "kills": in_time,
            "urls": 3000 * kills,
            "in_flight": IN_FLIGHT,
            "recorded": recorded,
            "exit": status,
            "distinct": ledger["distinct"],
            "asked_again": ledger["requests"] - ledger["distinct"],
        }
    ]
