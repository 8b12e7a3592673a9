#!/usr/bin/env python3
"""Spark as the engine of a bulk download: `hecaton fetch run-part` on two executors,
one of which is killed with all that it started.

    bin/hecaton fetch plan urls.txt -o out/ --part-size 2000
    python3 benches/fetch/spark.py out/ --kill > result.json

Needs PySpark (pip install pyspark) and Java 17. The last line is the result, as JSON.
"""

import json
import os
import subprocess
import sys
import threading
import time

import killing
import pyspark
from pyspark.sql import SparkSession

EXECUTOR = "CoarseGrainedExecutorBackend"


def main():
    flags = {"--speculate": "let Spark start copies of parts that are slow"}
    arguments = killing.arguments_of(__doc__, "executor", flags)
    folder, hecaton = arguments.folder, arguments.hecaton
    parts = killing.parts_of(folder)

    os.environ.setdefault("SPARK_HOME", os.path.dirname(pyspark.__file__))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        # Spark repeats a part whose executor was lost, and also a part whose new worker did not finish.
        "spark.task.maxFailures": 8,
        "spark.ui.enabled": False,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.speculation": arguments.speculate,
    }
    if arguments.speculate:
        # As eager as it can be, so that copies are certain.
        settings |= {"spark.speculation.quantile": 0.1, "spark.speculation.multiplier": 1.01}
        settings |= {"spark.speculation.minTaskRuntime": "500ms", "spark.speculation.interval": "200ms"}
    builder = SparkSession.builder.appName("hecaton fetch").master(f"local-cluster[{arguments.executors},1,1024]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")

    result = {"parts": parts, "executors": arguments.executors, "speculation": arguments.speculate}
    if arguments.kill:
        is_executor = lambda command: EXECUTOR in command
        threading.Thread(target=killing.kill_one, args=(folder, is_executor, result), daemon=True).start()
    began = time.monotonic()
    spark.sparkContext.parallelize(range(parts), parts).foreach(
        lambda part: subprocess.run([hecaton, "fetch", "run-part", "--quiet", str(folder), str(part)], check=True)
    )
    result["seconds"] = round(time.monotonic() - began, 1)
    killing.count(folder, result)
    result["spark"], result["python"] = pyspark.__version__, sys.version.split()[0]
    result["java"] = spark.sparkContext._jvm.System.getProperty("java.version")
    spark.stop()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
