# The harness's side of every Python driver: replies to commands, hands out requests, verifies and counts responses.
import collections
import contextvars
import json
import os
import platform
import signal
import sys
import threading
import time
from types import SimpleNamespace

import calls
from pace import Pace

HELLO = {
    "ok": True,
    "proto": 2,
    "runtime": f"python {platform.python_version()}",
    "http": ["1.1"],
    "tls": True,
    "keepalive": [True, False],
    "retries": "off",
    "cores": 1,
    "verify": ["tail", "json", "none"],
    "sends": ["fields"],
    "knows": ["expect", "urls"],
    "methods": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
}


TAKEN = contextvars.ContextVar("taken")  # The id of the request that this thread or task took last.


class Job(SimpleNamespace):  # The settings of `prepare`.
    def request(self):  # Method, header fields and body of the request that was taken last.
        headers = {**self.headers, self.id_field: f"hecaton-{TAKEN.get()}"} if self.id_field else self.headers
        return self.method, headers, self.body

    def url_of(self, id):  # Takes a request; returns its URL.
        if self.append_id:
            return f"{self.url}{id}"
        if self.id_field:
            TAKEN.set(id)
        return self.mix[id % len(self.mix)]


class Round:  # One `go`.
    def __init__(self, job, command):
        self.job, self.lock, self.untimed = job, threading.Lock(), 0
        self.first, self.pace = command["first"], Pace(command) if "rate" in command else None
        self.next, self.end, self.every = command["first"], command["first"] + command["count"], command["lat_every"]
        self.first_error = None
        self.done_count, self.bytes, self.sum, self.errors, self.latencies = (
            0,
            0,
            0,
            collections.Counter(),
            collections.Counter(),
        )

    def __iter__(self):  # Every request's URL, and when it was taken if it is to be timed.
        while True:
            with self.lock:
                if self.next == self.end:
                    return
                url = self.job.url_of(self.next)
                position = self.next - self.first
                self.next, timed, self.untimed = self.next + 1, self.untimed == 0, (self.untimed or self.every) - 1
            # A sender at a rate waits until the request is due.
            yield url, self.pace.due(position) if self.pace else timed and time.perf_counter_ns()

    def done(self, status, body, taken):  # Counts a response whose body has been read.
        spans = self.job.expected
        if not (any(first <= status <= last for first, last in spans) if spans else status // 100 == 2):
            return self.failed(f"status {status}")
        try:
            verify = self.job.verify
            check_value = 0 if verify == "none" else value(json.loads(body)) if verify == "json" else int(body[-8:], 16)
        except (ValueError, KeyError, TypeError):
            return self.failed("check value")
        with self.lock:
            self.done_count, self.bytes, self.sum = self.done_count + 1, self.bytes + len(body), self.sum + check_value
            if taken:
                micros = (time.perf_counter_ns() - taken) // 1000
                shift = max(micros.bit_length() - 8, 0)  # to eight significant bits, rounded down
                self.latencies[micros >> shift << shift] += 1

    def failed(self, kind):  # The kind of a failure in a few words, or its exception.
        name = kind if isinstance(kind, str) else type(kind).__name__
        with self.lock:
            self.errors[name] += 1
            self.first_error = self.first_error or (name if name == kind else f"{name}: {kind}")

    def reply(self):
        return {
            "ok": True,
            "done": self.done_count,
            "errors": self.errors.total(),
            "errors_by": self.errors,
            "first_error": self.first_error,
            "bytes": self.bytes,
            "sum": self.sum & 0xFFFFFFFF,
            "lat_us": list(self.latencies.items()),
        }


EACH_REQUEST = [*HELLO["knows"], "id_field"]  # of drivers that call `Job.request` each time


def fields(path):  # The header fields of a file, a line each.
    return dict(line.split(": ", 1) for line in open(path).read().splitlines()) if path else {}


def value(page):  # The check value of a document, plus the numbers of all its records.
    return int(page["token"], 16) + sum(record["numbers"] for record in page["records"])


def run(driver_class, **about):  # Replies to commands until `bye`.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    out, driver, job = os.fdopen(os.dup(1), "w", buffering=1), None, None
    os.dup2(2, 1)  # what a library prints must not stand between the responses
    for line in sys.stdin:
        command, reply = json.loads(line), {"ok": True}
        try:
            if command["cmd"] == "hello":
                reply = {**HELLO, "paces": getattr(driver_class, "paces", []), "calls": calls.words(), **about}
            elif command["cmd"] == "prepare":
                driver = driver and driver.close()
                optional = dict.fromkeys(["ca", "fields", "body", "urls", "expect", "id_field"])
                job = Job(**{**optional, **command}, timeout=command["timeout_ms"] / 1000)
                job.headers = {"Accept": "application/json"} if job.verify == "json" else fields(job.fields)
                job.body = job.body and open(job.body, "rb").read()
                job.mix = open(job.urls).read().splitlines() if job.urls else [job.url]
                job.expected = job.expect and [tuple(map(int, span.split("-"))) for span in job.expect.split(",")]
                driver = driver_class(job)
            elif command["cmd"] == "go":
                driver.go(round := Round(job, command))
                reply = round.reply()
            elif command["cmd"] == "call":
                reply = calls.reply(command)
            elif command["cmd"] != "bye":
                reply = {"ok": False, "error": "unsupported", "what": command["cmd"]}
        except Exception as error:
            reply = {"ok": False, "error": "failed", "what": f"{type(error).__name__}: {error}"}
        print(json.dumps({"id": command["id"], **reply}), file=out)
        if command["cmd"] == "bye":
            break
