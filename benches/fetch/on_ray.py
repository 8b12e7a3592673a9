#!/usr/bin/env python3
"""Ray as the engine of a bulk download: `hecaton fetch run-part` on two workers, one of which can be killed.

    bin/hecaton fetch plan urls.txt -o out/ --part-size 2000
    python3 benches/fetch/on_ray.py out/ --kill > result.json

Needs Ray (pip install ray). The last line is the result, as JSON.
"""

import json
import subprocess
import sys
import threading
import time

import killing
import ray


@ray.remote(num_cpus=1, max_retries=8, retry_exceptions=True)
def run_part(hecaton, folder, part):
    subprocess.run([hecaton, "fetch", "run-part", "--quiet", folder, str(part)], check=True)


def main():
    arguments = killing.arguments_of(__doc__)
    folder, hecaton = arguments.folder, arguments.hecaton
    parts = killing.parts_of(folder)
    ray.init(num_cpus=arguments.workers, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False)
    result = {"parts": parts, "workers": arguments.workers}
    if arguments.kill:
        is_worker = lambda command: command.startswith("ray::run_part")
        threading.Thread(target=killing.kill_one, args=(folder, is_worker, result), daemon=True).start()
    began = time.monotonic()
    ray.get([run_part.remote(hecaton, str(folder), part) for part in range(parts)])
    result["seconds"] = round(time.monotonic() - began, 1)
    killing.count(folder, result)
    result["ray"], result["python"] = ray.__version__, sys.version.split()[0]
    ray.shutdown()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
