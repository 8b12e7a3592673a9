#!/usr/bin/env python3
"""Dask as the engine of a bulk download: `hecaton fetch run-part` on two workers, one of which can be killed.

    bin/hecaton fetch plan urls.txt -o out/ --part-size 2000
    python3 benches/fetch/on_dask.py out/ --kill > result.json

Needs Dask (pip install 'dask[distributed]'). The last line is the result, as JSON.
"""

import json
import subprocess
import sys
import threading
import time

import dask
import killing
from dask.distributed import Client, LocalCluster


def run_part(part, hecaton, folder):
    subprocess.run([hecaton, "fetch", "run-part", "--quiet", folder, str(part)], check=True)


def main():
    arguments = killing.arguments_of(__doc__)
    folder, hecaton = arguments.folder, arguments.hecaton
    parts = killing.parts_of(folder)
    cluster = LocalCluster(n_workers=arguments.workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None)
    client = Client(cluster)
    result = {"parts": parts, "workers": arguments.workers}
    if arguments.kill:
        is_worker = lambda command: "spawn_main" in command
        threading.Thread(target=killing.kill_one, args=(folder, is_worker, result), daemon=True).start()
    began = time.monotonic()
    client.gather(client.map(run_part, range(parts), hecaton=hecaton, folder=str(folder), pure=False, retries=8))
    result["seconds"] = round(time.monotonic() - began, 1)
    killing.count(folder, result)
    result["dask"], result["python"] = dask.__version__, sys.version.split()[0]
    client.close()
    cluster.close()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
