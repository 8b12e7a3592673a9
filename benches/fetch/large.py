"""Ten million inputs: the speed of planning, the memory of fetching, and the time until a killed job resumes."""

import json
import os
import signal
import socket
import time

import jobs
import peers


def ten_million(options, folder):
    count = 100 * options.urls
    server = jobs.TestServer()
    listing, out = jobs.listed(server, 20, count, folder), os.path.join(folder, "out")
    command = peers.fetch(listing, out)
    begun = time.monotonic()
    plan = jobs.started(
        [
            peers.HECATON,
            "fetch",
            "plan",
            listing,
            "-o",
            out,
            "--i-own-these-hosts",
            "--per-host",
            str(peers.CONCURRENCY),
        ]
    )
    cpu, plan_mb, status = jobs.waited(plan, jobs.LIMIT)
    seconds = time.monotonic() - begun
    row = {
        "urls": count,
        "plan_seconds": round(seconds, 2),
        "plan_lines_per_second": round(count / seconds),
        "plan_mb": round(plan_mb, 1),
        "plan_exit": status,
    }
    print(row, flush=True)
    process = jobs.started(command)
    peak = 0.0
    while process.poll() is None and recorded(out) < count // 2:
        peak = max(peak, jobs.resident(process.pid))
        time.sleep(0.25)
    row["run_mb"], row["recorded_at_kill"] = round(peak, 1), recorded(out)
    os.killpg(process.pid, signal.SIGKILL)
    jobs.waited(process, jobs.LIMIT)
    server.end()
    row["first_request_after_seconds"] = round(first_request(command, server.port), 3)
    return [row]


def recorded(out):
    """The job's number of records, which it writes down once a second."""
    try:
        with open(os.path.join(out, "progress.json")) as file:
            return json.load(file)["tally"]["records"]
    except (OSError, ValueError):
        return 0


def first_request(command, port):
    """Seconds from the start of the command to the first byte of a request, on the port that the test server had."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", int(port)))
        listener.listen(1024)
        listener.settimeout(jobs.LIMIT)
        begun = time.monotonic()
        process = jobs.started(command)
        connection, _ = listener.accept()
        connection.settimeout(jobs.LIMIT)
        connection.recv(1)
        seconds = time.monotonic() - begun
        os.killpg(process.pid, signal.SIGKILL)
        jobs.waited(process, jobs.LIMIT)
        connection.close()
    return seconds
