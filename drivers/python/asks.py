# The command `ask`: makes one call for an audit, with the client's own defaults, and reports what its caller was told.
import hashlib
import time
import urllib.parse
from types import SimpleNamespace

_kept = {}


def asks(words, open_client, ask):
    """Says what a client can be asked: the words, how a client is made, and `ask(client, call)`: status and body."""
    _kept.update(words=words, open=open_client, ask=ask)


def asked(line):  # The reply to `ask`.
    if not _kept:
        return {"ok": False, "error": "unsupported", "what": "ask"}
    for word in filter(None, line["needs"].split(",")):
        if word not in _kept["words"]:
            return {"ok": False, "error": "unsupported", "what": word}
    if line["fresh"] or "client" not in _kept:
        close = getattr(_kept.pop("client", None), "close", None)
        if close:
            close()
        _kept["client"] = _kept["open"]()
    call = SimpleNamespace(
        method=line["method"],
        url=line["url"],
        fields=dict(urllib.parse.parse_qsl(line["fields"], keep_blank_values=True)),
        body=urllib.parse.unquote_to_bytes(line["body"]) if "body" in line else None,
        timeout=line["timeout_ms"] / 1000 if "timeout_ms" in line else None,
        follow=line.get("follow"),
    )
    begun = time.monotonic()
    claim = told(call)
    return {"ok": True, **claim, "ms": int((time.monotonic() - begun) * 1000)}


def told(call):
    try:
        status, body = _kept["ask"](_kept["client"], call)
    except Exception as error:
        return {"class": type(error).__name__, "text": ascii(str(error))[1:-1][:500]}
    return {"status": status, "bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
