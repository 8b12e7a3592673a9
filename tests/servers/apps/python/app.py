"""The application under Python's servers, for ASGI and for WSGI; see ../../lib/listeners.rb for its responses."""

import gzip
import json
import zlib

TEXT = b"Nothing is lost that was coded and decoded. " * 2300
ALPHABET = b"abcdefghijklmnopqrstuvwxyz"


def respond(method, path, query):
    """Status, fields and body of a response that does not depend on the request's body."""
    if path == "/early":
        return 413, [], b""
    if path.startswith("/bytes/"):
        count = int(path[7:])
        return 200, [], (ALPHABET * (count // 26 + 1))[:count]
    if path == "/gzipped":
        return 200, [("content-encoding", "gzip"), ("content-type", "text/plain")], gzip.compress(TEXT)
    return in_json({"method": method, "path": path + ("?" + query if query else "")})


def in_json(value):
    return 200, [("content-type", "application/json")], json.dumps(value).encode()


async def asgi(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            kind = (await receive())["type"].split(".")[1]
            await send({"type": f"lifespan.{kind}.complete"})
            if kind == "shutdown":
                return
    method, path = scope["method"], scope["path"]
    if path == "/upload":
        size, crc, more = 0, 0, True
        while more:
            event = await receive()
            piece, more = event.get("body", b""), event.get("more_body", False)
            size, crc = size + len(piece), zlib.crc32(piece, crc)
        status, fields, body = in_json({"method": method, "bytes": size, "crc32": crc})
    else:
        status, fields, body = respond(method, path, scope["query_string"].decode())
    fields = [*fields, ("content-length", str(len(body)))]
    await send(
        {"type": "http.response.start", "status": status, "headers": [(n.encode(), v.encode()) for n, v in fields]}
    )
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else body})


def wsgi(environ, start_response):
    method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
    if path == "/upload":
        size, crc = 0, 0
        while piece := environ["wsgi.input"].read(65536):
            size, crc = size + len(piece), zlib.crc32(piece, crc)
        status, fields, body = in_json({"method": method, "bytes": size, "crc32": crc})
    else:
        status, fields, body = respond(method, path, environ.get("QUERY_STRING", ""))
    start_response(
        f"{status} {'OK' if status == 200 else 'Content Too Large'}", [*fields, ("Content-Length", str(len(body)))]
    )
    return [] if method == "HEAD" else [body]
