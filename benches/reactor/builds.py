"""Builds the gem of a commit, once as it was and once with a patch, for the comparisons of who drives the sockets."""

import os
import pathlib
import subprocess

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent


def all_of(ways, commit, folder, target):
    """Builds each way, a name and its patch or None, below `folder`, unless it is there. Returns their ruby/lib."""
    targets = PROJECT / "target" / target
    return {name: build(commit, patch, folder / name, targets / name) for name, patch in ways.items()}


def build(commit, patch, folder, target):
    library = folder / "ruby/lib"
    if (library / "hecaton/hecaton_native.so").exists():
        return library
    folder.mkdir()
    old = subprocess.run(["git", "-C", PROJECT, "archive", commit], capture_output=True)
    if old.returncode != 0:
        raise SystemExit(f"commit {commit} is not in this clone: fetch the whole history (git fetch --unshallow)")
    subprocess.run(["tar", "x", "-C", folder], input=old.stdout, check=True)
    if patch:
        subprocess.run(["patch", "-s", "-p1", "-d", folder, "-i", patch], check=True)
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "--package", "hecaton_native", "--target-dir", target],
        cwd=folder,
        check=True,
        env={**os.environ, "RUSTFLAGS": "--cap-lints allow"},
    )
    subprocess.run(["cp", target / "release/libhecaton_native.so", library / "hecaton/hecaton_native.so"], check=True)
    return library
