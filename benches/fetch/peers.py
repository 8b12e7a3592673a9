"""The peers: the command with which each fetches a list of URLs, its share of the list, and how to count what it
fetched.
"""

import glob
import gzip
import json
import os
import shutil
import subprocess
import tarfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
HECATON = os.environ.get("HECATON_BINARY", os.path.join(ROOT, "target", "release", "hecaton"))
# Another build of the command, which is measured in the same rounds.
BEFORE = os.environ.get("HECATON_BEFORE")
BARE = os.path.join(ROOT, "target", "release", "examples", "bare")
VENV = os.path.join(ROOT, "target", "fetch-peers", "bin")
HERE = os.path.dirname(os.path.abspath(__file__))
CONCURRENCY = 200


def fetch(urls, out):
    return [HECATON, "fetch", urls, "-o", out, "--i-own-these-hosts", "--per-host", str(CONCURRENCY), "--quiet"]


def fetch_files(urls, out):
    return fetch(urls, out) + ["--keep-body", "files"]


def before(command):
    """The same command by the other build."""
    return lambda urls, out: [BEFORE, *command(urls, out)[1:]]


def bare(urls, out):
    """The engine alone, which records nothing: the baseline for fetch."""
    return [BARE, urls]


def curl(urls, out):
    """curl reads a config in which each URL has its file; 7.88 takes at most 300 at once."""
    config = urls + ".curl"
    with open(urls) as lines, open(config, "w") as file:
        for number, url in enumerate(lines):
            file.write(f'url = "{url.strip()}"\noutput = "{out}/{number}"\n')
    os.makedirs(out, exist_ok=True)
    return [
        "curl",
        "--silent",
        "--parallel",
        "--parallel-max",
        str(CONCURRENCY),
        "--config",
        config,
        "--write-out",
        "%{http_code} %{url}\n",
    ]


def xargs(urls, out):
    """A process for each URL, 64 at once: the usual one-liner in a shell."""
    os.makedirs(out, exist_ok=True)
    return [
        "sh",
        "-c",
        f"xargs -P 64 -n 1 sh -c 'curl --silent --output {out}/${{0##*/}}-$$ "
        f'--write-out "%{{http_code}} %{{url}}\\n" $0\' < {urls}',
    ]


def aria2c(urls, out):
    return [
        "aria2c",
        "--quiet",
        "--input-file",
        urls,
        "--dir",
        out,
        "--max-concurrent-downloads",
        str(CONCURRENCY),
        "--auto-file-renaming=false",
        "--allow-overwrite=true",
        "--file-allocation=none",
        "--continue=true",
    ]


def wget2(urls, out):
    return [
        "wget2",
        "--quiet",
        "--input-file",
        urls,
        "--directory-prefix",
        out,
        "--force-directories",
        "--max-threads",
        str(CONCURRENCY),
        "--no-robots",
        "--continue",
    ]


def scrapy(urls, out):
    os.makedirs(out, exist_ok=True)
    return [
        os.path.join(VENV, "scrapy"),
        "runspider",
        os.path.join(HERE, "spider.py"),
        "--nolog",
        "-a",
        f"urls={urls}",
        "-a",
        f"jobs={out}",
        "-o",
        f"{out}/items.jsonl",
        "-s",
        f"JOBDIR={out}/job",
    ]


def img2dataset(urls, out):
    return [
        os.path.join(VENV, "img2dataset"),
        "--url_list",
        urls,
        "--output_folder",
        out,
        "--output_format",
        "webdataset",
        "--thread_count",
        str(CONCURRENCY),
        "--processes_count",
        "1",
        "--disable_all_reencoding",
        "True",
        "--number_sample_per_shard",
        "10000",
        "--retries",
        "0",
        "--enable_wandb",
        "False",
    ]


def nothing(out):
    return 0


def records(out):
    output = subprocess.run([HECATON, "fetch", "show", out], capture_output=True, text=True)
    return sum(1 for line in output.stdout.splitlines() if json.loads(line).get("status") == 200)


def files(out):
    return sum(
        1
        for folder, _, names in os.walk(out)
        for name in names
        if not name.endswith(".aria2") and os.path.getsize(os.path.join(folder, name))
    )


def items(out):
    """The number of whole lines of the feed. A line that was cut by a kill does not count."""
    whole = 0
    for path in glob.glob(f"{out}/items.jsonl*"):
        with (gzip.open if path.endswith("gz") else open)(path, "rt") as lines:
            whole += sum(1 for line in lines if line.endswith("}\n"))
    return whole


def samples(out):
    whole = 0
    for path in glob.glob(f"{out}/*.tar"):
        try:
            with tarfile.open(path) as tar:
                whole += sum(1 for member in tar if member.name.endswith(".jpg"))
        except tarfile.TarError:
            pass
    return whole


# Name: (command, function that counts what it fetched, share of the URLs).
ALL = {
    "the bare engine": (bare, nothing, 1.0),
    "hecaton fetch": (fetch, records, 1.0),
    "hecaton fetch to files": (fetch_files, records, 1.0),
    "curl --parallel": (curl, files, 1.0),
    "aria2c": (aria2c, files, 0.2),
    "wget2": (wget2, files, 0.2),
    "xargs -P 64 curl": (xargs, files, 0.05),
    "scrapy": (scrapy, items, 0.2),
    "img2dataset": (img2dataset, samples, 0.2),
}
PROGRAMS = {
    "curl --parallel": "curl",
    "xargs -P 64 curl": "curl",
    "aria2c": "aria2c",
    "wget2": "wget2",
    "the bare engine": BARE,
}
if BEFORE:
    for name, command in [("hecaton fetch before", fetch), ("hecaton fetch to files before", fetch_files)]:
        ALL[name] = (before(command), records, 1.0)
        PROGRAMS[name] = BEFORE
IN_VENV = {"scrapy": "Scrapy", "img2dataset": "img2dataset"}


def present(name, aloud=True):
    program = PROGRAMS.get(name) or (os.path.join(VENV, name) if name in IN_VENV else HECATON)
    found = shutil.which(program) is not None
    if not found and aloud:
        print(f"{name} is left out: it is not installed; `benches/fetch/install` installs it")
    return found


def version(name):
    if name == "the bare engine":
        return None
    if name in IN_VENV:
        show = [os.path.join(VENV, "pip"), "show", IN_VENV[name]]
        output = subprocess.run(show, capture_output=True, text=True).stdout
        return next((line.split(": ")[1] for line in output.splitlines() if line.startswith("Version")), None)
    output = subprocess.run([PROGRAMS.get(name, HECATON), "--version"], capture_output=True, text=True).stdout
    return output.splitlines()[0].split(" (")[0].split(" - ")[0]
