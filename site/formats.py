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


def kept_runs():
    return sorted((ROOT / "docs/results").rglob("run.json.zst"))


def document(command, path):
    """A kept run in the format of today, in which the command prints it whatever version wrote it."""
    shown = subprocess.run([command, "report", path, "--json"], capture_output=True, check=True)
    return json.loads(shown.stdout)


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
        for fault in faults(run, path.relative_to(ROOT), document(command, path))
    ]
    job = records(command)
    found += [fault for number, one in enumerate(job) for fault in faults(record, f"record {number}", one)]
    if len(job) != 5 or not documents:
        found.append(f"looked at {len(documents)} runs and {len(job)} records of 5")
    print(*found, f"{len(documents)} kept runs and {len(job)} records, {len(found)} faults", sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
