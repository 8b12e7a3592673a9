# The harness's side of the reference rows: runs a load generator for each `go`, and believes what it prints.
import json
import re
import signal
import subprocess
import sys

HELLO = {
    "ok": True,
    "proto": 2,
    "http": ["1.1"],
    "tls": False,
    "keepalive": [True],
    "retries": "off",
    "models": ["events"],
    "cores": 1,
    "verify": ["none"],
    "methods": ["GET"],
    "runtime": "native",
    "max_concurrency": 1000,
}


def number(pattern, text):
    """The number that a pattern finds in what the tool printed; 0 when it finds none."""
    found = re.search(pattern, text, re.MULTILINE)
    return float(found[1]) if found else 0


def go(tool, job, count):
    """Runs the tool once; what it does not account for has failed."""
    if count == 0:
        return {"ok": True, "done": 0, "errors": 0, "errors_by": {}, "bytes": 0, "sum": 0, "lat_us": []}
    words = [str(word) for word in tool.command(job, min(job["concurrency"], count), count)]
    ran = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    done, size = tool.result(ran.stdout) if ran.returncode == 0 else (0, 0)
    done = max(0, int(done))  # ab may count one failure under two heads
    errors = max(0, count - done) if tool.counts or not done else 0
    return {
        "ok": True,
        "done": done,
        "errors": errors,
        "errors_by": {"not reported": errors} if errors else {},
        "bytes": int(size),
        "sum": 0,
        "lat_us": [],
    }


def reply(tool, command, state):
    if command["cmd"] == "hello":
        return {**HELLO, **tool.about}
    if command["cmd"] == "prepare":
        for key, able in [
            ("verify", command["verify"] == "none"),
            ("append_id", not command["append_id"]),
            ("keepalive", command["keepalive"] in tool.about.get("keepalive", [True])),
        ]:
            if not able:
                return {"ok": False, "error": "unsupported", "what": key}
        state.update(command)
    elif command["cmd"] == "go":
        return go(tool, state, command["count"])
    elif command["cmd"] != "bye":
        return {"ok": False, "error": "unsupported", "what": command["cmd"]}
    return {"ok": True}


class Tool:
    counts = True  # whether its command takes a number of requests

    @classmethod
    def run(cls):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        state = {}
        for line in sys.stdin:
            command = json.loads(line)
            print(json.dumps({"id": command["id"], **reply(cls, command, state)}), flush=True)
            if command["cmd"] == "bye":
                break
