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


def at_half(options, folder):
    found = []
    for name in options.peers:
        if peers.ALL[name][1] is peers.nothing:
            continue
        whole = jobs.once(name, 1, options.urls, folder)["seconds"]
        row = killed_at_half(name, options.urls, whole, folder)
        found.append(row)
        print(json.dumps(row), flush=True)
    return found


def killed_at_half(name, urls, whole, folder):
    """Kills the peer half way, counts its records, runs the command again and counts the URLs requested twice."""
    server, listing, out, left, count = jobs.prepared(name, 1, urls, folder)
    process = jobs.started(peers.ALL[name][0](listing, out))
    time.sleep(whole / 2)
    os.killpg(process.pid, signal.SIGKILL)
    jobs.waited(process, jobs.LIMIT)
    survived = left(out)
    again = jobs.started(peers.ALL[name][0](listing, out))
    _, _, status = jobs.waited(again, jobs.LIMIT)
    ledger = server.end()
    return {
        "peer": name,
        "urls": count,
        "left_after_kill": survived,
        "recorded_in_the_end": left(out),
        "exit": status,
        "distinct": ledger["distinct"],
        "sent_again": ledger["requests"] - ledger["distinct"],
    }


def a_hundred(options, folder):
    """One job, killed at random moments. Each kill may repeat requests in flight and unframed records."""
    draw = random.Random(7)
    kills = max(3, KILLS * options.urls // 100_000)
    server = jobs.TestServer("--delay", "5ms")
    # About as many URLs as the job fetches until the last kill, and half as many again.
    listing, out = jobs.listed(server, 1, 3000 * kills, folder), os.path.join(folder, "out")
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
            "sent_again": ledger["requests"] - ledger["distinct"],
        }
    ]
