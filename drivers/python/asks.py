# The command `ask`: makes one call for an audit, with the client's own defaults, and reports its outcome.
import asyncio
import hashlib
import inspect
import threading
import time
import urllib.parse
from types import SimpleNamespace

_state = {}
_loop = asyncio.new_event_loop()


def done(result):
    """A result, or what a coroutine gives in an event loop that also runs between calls, as that of a program does."""
    if not inspect.iscoroutine(result):
        return result
    if not _loop.is_running():
        threading.Thread(target=_loop.run_forever, daemon=True).start()
    return asyncio.run_coroutine_threadsafe(result, _loop).result()


def asks(words, open_state, ask):
    """Says which calls a client can make: the words, how a client is made, and `ask(client, call)`: status and body.

    The last two may be coroutines.
    """
    _state.update(words=words, open=open_state, ask=ask)


def reply(line):  # To `ask`.
    if not _state:
        return {"ok": False, "error": "unsupported", "what": "ask"}
    for word in filter(None, line["needs"].split(",")):
        if word not in _state["words"]:
            return {"ok": False, "error": "unsupported", "what": word}
    if line["fresh"] or "client" not in _state:
        client = _state.pop("client", None)
        close = getattr(client, "aclose", None) or getattr(client, "close", None)
        if close:
            done(close())
        _state["client"] = done(_state["open"]())
    call = SimpleNamespace(
        method=line["method"],
        url=line["url"],
        fields=dict(urllib.parse.parse_qsl(line["fields"], keep_blank_values=True)),
        body=urllib.parse.unquote_to_bytes(line["body"]) if "body" in line else None,
        timeout=line["timeout_ms"] / 1000 if "timeout_ms" in line else None,
        follow=line.get("follow"),
    )
    begun = time.monotonic()
    claim = outcome(call)
    return {"ok": True, **claim, "ms": int((time.monotonic() - begun) * 1000)}


def outcome(call):
    try:
        status, body = done(_state["ask"](_state["client"], call))
    except Exception as error:
        return {"class": type(error).__name__, "text": ascii(str(error))[1:-1][:500]}
    return {"status": status, "bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
