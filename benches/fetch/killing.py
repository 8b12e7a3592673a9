"""What the scripts of the engines share: their arguments, the kill of a worker with all that it runs, and counts."""

import argparse
import json
import os
import pathlib
import signal
import time


def arguments_of(script, workers="worker", flags=None):
    """The arguments of a script with this documentation; `flags` has further ones, with their help."""
    parser = argparse.ArgumentParser(description=script.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--hecaton", type=pathlib.Path, default="bin/hecaton")
    parser.add_argument(f"--{workers}s", type=int, default=2)
    parser.add_argument("--kill", action="store_true", help=f"kill one {workers} once a part is done")
    for flag, help in (flags or {}).items():
        parser.add_argument(flag, action="store_true", help=help)
    arguments = parser.parse_args()
    # Workers may have another working directory.
    arguments.folder, arguments.hecaton = arguments.folder.resolve(), str(arguments.hecaton.resolve())
    return arguments


def processes():
    """All processes, by number: their parent and what they run."""
    found = {}
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                stat = (folder / "stat").read_text().rpartition(")")[2].split()
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue  # It has ended meanwhile.
            found[int(folder.name)] = (int(stat[1]), command)
    return found


def descendants(of, among):
    children = [number for number, (parent, _) in among.items() if parent == of]
    return children + [number for child in children for number in descendants(child, among)]


def parts_of(folder):
    return len(json.loads((folder / "plan.json").read_text())["parts"])


def done(folder):
    return len(list(folder.glob("parts/*/COMMIT")))


def has_records(folder, command):
    attempts = folder.glob(f"parts/{int(command.split()[-1]):06}/attempt-*")
    return any(attempt.stat().st_size > 4096 for attempt in attempts)


def kill_one(folder, is_worker, result):
    """Waits until a part is done and a further one has records, and kills the worker that does it."""
    under_way = []
    while not under_way:
        time.sleep(0.05)
        if not done(folder):
            continue
        among = processes()
        for worker in (number for number in descendants(os.getpid(), among) if is_worker(among[number][1])):
            all_of_it = [worker, *descendants(worker, among)]
            under_way = [
                number
                for number in all_of_it
                if "fetch run-part" in among[number][1] and has_records(folder, among[number][1])
            ]
            if under_way:
                break
    for number in all_of_it:
        try:
            os.kill(number, signal.SIGKILL)
        except ProcessLookupError:
            pass
    result["killed"] = {"workers": 1, "processes": len(all_of_it), "parts_under_way": len(under_way)}


def count(folder, result):
    """What the commits of all parts say."""
    commits = [json.loads(path.read_text()) for path in folder.glob("parts/*/COMMIT")]
    result["parts_done"] = len(commits)
    result["parts_taken_over"] = sum(commit["attempt"] > 1 for commit in commits)
    result["records"] = sum(commit["tally"]["records"] for commit in commits)
    result["good"] = sum(commit["tally"]["ok"] for commit in commits)
