# The command `call`: makes one call for an audit, with the client's own defaults, and reports its outcome.
import asyncio
import concurrent.futures
import hashlib
import inspect
import json
import os
import threading
import time
import urllib.parse
from types import SimpleNamespace

# The words that this file implements: it closes the client, and makes calls from threads and from a child.
OWN = ["parallel", "fork", "close"]
_state = {}
_loop, _starting = asyncio.new_event_loop(), threading.Lock()


def done(result):
    """A result, or what a coroutine gives in an event loop that also runs between calls, as that of a program does."""
    if not inspect.iscoroutine(result):
        return result
    with _starting:
        if "loop" not in _state:
            _state["loop"] = threading.Thread(target=_loop.run_forever, daemon=True)
            _state["loop"].start()
    return asyncio.run_coroutine_threadsafe(result, _loop).result()


def calls(words, open_state, make):
    """Says which calls a client can make: the words, `open_state(call)` makes a client, and `make(client, call)` gives
    the status and the body. The last two may be coroutines."""
    _state.update(words=words, open=open_state, make=make)


def words():
    return _state.get("words", [])


def reply(line):  # To `call`.
    if not _state:
        return {"ok": False, "error": "unsupported", "what": "call"}
    for word in filter(None, line["needs"].split(",")):
        if word not in _state["words"]:
            return {"ok": False, "error": "unsupported", "what": word}
    by, call = line.get("by"), call_of(line)
    for name in ("http_proxy", "no_proxy"):  # of an earlier call
        if "environment" not in line and name in _state.get("variables", {}):
            os.environ.pop(name, None)
    _state["variables"] = dict(urllib.parse.parse_qsl(line.get("environment", "")))
    os.environ.update(_state["variables"])
    if line["new_client"] or by == "close" or "client" not in _state:
        close_client()
    if by == "close":
        return {"ok": True, "responses": 0, "errors": 0, "ms": 0}
    if "client" not in _state:
        _state["client"] = done(_state["open"](call))
    begun = time.monotonic()
    if "parallel" in line:
        claim = at_once(line["parallel"], call)
    else:
        claim = of_child(call) if by == "fork" else outcome(call)
    return {"ok": True, **claim, "ms": int((time.monotonic() - begun) * 1000)}


def close_client():
    client = _state.pop("client", None)
    names = ("aclose", "close", "clear")
    close = next((getattr(client, name) for name in names if hasattr(client, name)), None)
    if close:
        done(close())


def call_of(line):
    optional = ("ca", "verify", "http", "proxy", "hosts", "pool_size", "follow")
    return SimpleNamespace(
        method=line["method"],
        url=line["url"],
        fields=dict(urllib.parse.parse_qsl(line["fields"], keep_blank_values=True)),
        body=urllib.parse.unquote_to_bytes(line["body"]) if "body" in line else None,
        timeout=line["timeout_ms"] / 1000,
        **{name: line.get(name) for name in optional},
    )


def at_once(count, call):  # Equal calls from as many threads.
    with concurrent.futures.ThreadPoolExecutor(count) as threads:
        claims = list(threads.map(lambda _: outcome(call), range(count)))
    errors = [claim for claim in claims if "class" in claim]
    return {"responses": count - len(errors), "errors": len(errors), **(errors[-1] if errors else {})}


def of_child(call):  # A call from a child of this process.
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, json.dumps(outcome(call)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"class": "NoReply", "text": "the child ended without a reply"}


def outcome(call):
    try:
        status, body = done(_state["make"](_state["client"], call))
    except Exception as error:
        return {"class": type(error).__name__, "text": ascii(str(error))[1:-1][:500]}
    return {"status": status, "bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
