"""Checks kept results against the JSON Schemas that the site shows: each is valid, and has no key that the schema does
not describe.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import fastjsonschema

ROOT = Path(__file__).resolve().parent.parent


def closed(schema):
    """The schema, where a key that it does not name is an error."""
    if isinstance(schema, dict):
        choices = schema.get("oneOf", []) + schema.get("anyOf", [])
        if "properties" in schema and choices:
            # Each choice has the keys of all, and its own.
            for choice in choices:
                choice["properties"] = {**dict.fromkeys(schema["properties"], True), **choice.get("properties", {})}
        elif "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for part in schema.values():
            closed(part)
    elif isinstance(schema, list):
        for part in schema:
            closed(part)
    return schema


def validator(name):
    return fastjsonschema.compile(closed(json.loads((ROOT / f"docs/schemas/{name}.schema.json").read_text())))


def faults(valid, where, document):
    try:
        valid(document)
    except fastjsonschema.JsonSchemaException as fault:
        return [f"{where}: {fault}"]
    return []


# Keys and values in kept results that older versions wrote, and their names today. The command reads both.
RENAMED = {
    "proof": "probe",
    "launch": "invocation",
    "launches": "invocations",
    "origin_core": "server_core",
    "marks": "warnings",
    "ceiling": "baseline_loader",
    "ceiling_ratio": "baseline_loader_ratio",
    "against_ceiling": "against_loader",
    "kept_ms": "keep_alive_ms",
    "fresh_ms": "new_ms",
    "predicted_kept_ms": "predicted_keep_alive_ms",
    "predicted_fresh_ms": "predicted_new_ms",
    "answered": "responded",
    "asked": "limit",
}
VALUES = {("kind", "origin"): "test_server", ("control", "canary"): "reference_run"}

# What older versions wrote, and no rule reads any more: samples of held responses inside of measured rounds.
DROPPED = {"checks", "check_gaps", "check_waits"}
# What a driver can be found to have done. Older versions found more, and the command reads that as `other`.
FACTS = {
    choice["properties"]["fact"]["const"]
    for choice in json.loads((ROOT / "docs/schemas/run.schema.json").read_text())["definitions"]["Seen"]["oneOf"]
}
# Figures of a row that older documents lack.
LATER = {"cpu_outside_percentage": None}


def name_today(key, value):
    """The name of a key today. A `place` that is a number is a client's rank in a shootout, and kept its name."""
    if key == "place" and isinstance(value, dict):
        return "isolation"
    return RENAMED.get(key, key)


def today(value, of=None):
    """A value, which may be that of a key, in the names of today."""
    if isinstance(value, dict):
        if "fact" in value and value["fact"] not in FACTS:
            return {"fact": "other"}
        if "cpu_ms_per_request" in value:
            value = LATER | value
        return {name_today(key, part): today(part, key) for key, part in value.items() if key not in DROPPED}
    if isinstance(value, list):
        return [today(part) for part in value]
    return VALUES.get((of, value), value)


def kept_runs():
    return sorted((ROOT / "docs/results").rglob("run.json"))


def records(command):
    """Records of a small job on the test server: responses, an error, a duplicate and an invalid line."""
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen([command, "serve", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True) as server,
    ):
        try:
            address = next(
                word for line in server.stdout for word in line.split() if word.startswith("http://")
            ).rstrip("/.,")
            urls = [f"{address}/r/1", f"{address}/r/1", f"{address}/status/404", "http://127.0.0.1:1/", "no URL"]
            Path(folder, "urls.txt").write_text("\n".join(urls))
            subprocess.run([command, "fetch", "urls.txt", "-o", "out"], cwd=folder, capture_output=True, check=False)
            shown = subprocess.run(
                [command, "fetch", "show", "out"], cwd=folder, capture_output=True, check=True, text=True
            ).stdout
        finally:
            server.terminate()
    return [json.loads(line) for line in shown.splitlines()]


def main(command):
    run, record = validator("run"), validator("record")
    documents = kept_runs()
    found = [
        fault
        for path in documents
        for fault in faults(run, path.relative_to(ROOT), today(json.loads(path.read_text())))
    ]
    job = records(command)
    found += [fault for number, one in enumerate(job) for fault in faults(record, f"record {number}", one)]
    if len(job) != 5 or not documents:
        found.append(f"looked at {len(documents)} runs and {len(job)} records of 5")
    print(*found, f"{len(documents)} kept runs and {len(job)} records, {len(found)} faults", sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
