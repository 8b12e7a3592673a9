#!/usr/bin/env python3
"""Spark as the engine of a bulk download: `hecaton fetch run-part` on two executors,
one of which is killed with all that it started.

    bin/hecaton fetch plan urls.txt -o out/ --part-size 2000
    python3 benches/fetch/spark.py out/ --kill > result.json

Needs PySpark (pip install pyspark) and Java 17. The last line is the result, as JSON.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pyspark
from pyspark import SparkConf, SparkContext

EXECUTOR = "CoarseGrainedExecutorBackend"


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


def kill_one_executor(begun, has_records, result):
    """Kills an executor and its children, as if its machine were gone, once its second part has records."""
    victim, under_way = None, []
    while not under_way:
        time.sleep(0.05)
        if begun():
            among = processes()
            executors = [number for number in descendants(os.getpid(), among) if EXECUTOR in among[number][1]]
            victim = min(executors, default=None)
            all_of_it = [victim, *descendants(victim, among)] if victim else []
            under_way = [
                number for number in all_of_it if "fetch run-part" in among[number][1] and has_records(among[number][1])
            ]
    result["killed"] = {"executors": 1, "processes": len(all_of_it), "parts_under_way": len(under_way)}
    for number in all_of_it:
        try:
            os.kill(number, signal.SIGKILL)
        except ProcessLookupError:
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--hecaton", default="bin/hecaton")
    parser.add_argument("--executors", type=int, default=2)
    parser.add_argument("--kill", action="store_true", help="kill one executor once a part is done")
    arguments = parser.parse_args()
    folder, hecaton = str(arguments.folder.resolve()), str(pathlib.Path(arguments.hecaton).resolve())
    parts = len(json.loads((arguments.folder / "plan.json").read_text())["parts"])
    done = lambda: len(list(arguments.folder.glob("parts/*/COMMIT")))
    attempts = lambda command: arguments.folder.glob(f"parts/{int(command.split()[-1]):06}/attempt-*")
    has_records = lambda command: any(attempt.stat().st_size > 4096 for attempt in attempts(command))

    os.environ.setdefault("SPARK_HOME", os.path.dirname(pyspark.__file__))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    conf = SparkConf().setAppName("hecaton fetch").setMaster(f"local-cluster[{arguments.executors},1,1024]")
    # Spark repeats a part whose executor was lost, and also a part whose new worker did not finish.
    conf.set("spark.task.maxFailures", "8").set("spark.ui.enabled", "false")
    conf.set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1")
    spark = SparkContext(conf=conf)
    spark.setLogLevel("OFF")

    result = {"parts": parts, "executors": arguments.executors}
    if arguments.kill:
        threading.Thread(target=kill_one_executor, args=(done, has_records, result), daemon=True).start()
    began = time.monotonic()
    spark.parallelize(range(parts), parts).foreach(
        lambda part: subprocess.run([hecaton, "fetch", "run-part", "--quiet", folder, str(part)], check=True)
    )
    result["seconds"] = round(time.monotonic() - began, 1)
    commits = [json.loads(path.read_text()) for path in arguments.folder.glob("parts/*/COMMIT")]
    result["parts_done"] = len(commits)
    result["parts_taken_over"] = sum(commit["attempt"] > 1 for commit in commits)
    result["records"] = sum(commit["tally"]["records"] for commit in commits)
    result["good"] = sum(commit["tally"]["ok"] for commit in commits)
    result["spark"], result["python"] = pyspark.__version__, sys.version.split()[0]
    result["java"] = spark._jvm.System.getProperty("java.version")
    spark.stop()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
