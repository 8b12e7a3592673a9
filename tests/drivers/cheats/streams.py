# Does not cheat: all requests in flight are streams of one HTTP/2 connection. With `few` it keeps one in flight, and
# with `trusting` it verifies no certificate.
import os
import socket
import ssl
import struct
import sys
from urllib.parse import urlsplit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../drivers/python"))
import kit

FEW = "few" in sys.argv
TRUSTING = "trusting" in sys.argv
DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1


class Connection:  # Frames of RFC 9113, and of HPACK what needs neither a table nor Huffman's code.
    def __init__(self, job):
        url = urlsplit(job.url)
        context = ssl.create_default_context(cafile=job.ca)
        if TRUSTING:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        plain = socket.create_connection((url.hostname, url.port), job.timeout)
        self.socket = context.wrap_socket(plain, server_hostname=url.hostname)
        self.stream, self.bytes, self.authority = -1, b"", url.netloc.encode()
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, b""))

    def get(self, path):  # Returns the stream.
        self.stream += 2
        fields = b"\x82\x87\x04" + text(path.encode()) + b"\x01" + text(self.authority)
        self.socket.sendall(frame(HEADERS, END_STREAM | END_HEADERS, self.stream, fields))
        return self.stream

    def read(self):  # The next frame: kind, flags, stream and payload.
        head = self.take(9)
        payload = self.take(int.from_bytes(head[:3], "big"))
        kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
        if kind == DATA and payload:
            self.socket.sendall(frame(WINDOW, 0, 0, struct.pack(">I", len(payload))))
        elif kind in (SETTINGS, PING) and not flags & ACK:
            self.socket.sendall(frame(kind, ACK, 0, payload if kind == PING else b""))
        elif kind == GOAWAY:
            raise ConnectionError("GOAWAY")
        return kind, flags, stream, payload

    def take(self, count):
        while len(self.bytes) < count:
            more = self.socket.recv(65536)
            if not more:
                raise ConnectionError("the server ended the connection")
            self.bytes += more
        taken, self.bytes = self.bytes[:count], self.bytes[count:]
        return taken


class Streams:
    def __init__(self, job):
        self.job, self.connection = job, None

    def go(self, round):
        requests, open_streams, failed = iter(round), {}, 0
        try:
            self.connection = self.connection or Connection(self.job)
            for _ in range(1 if FEW else self.job.concurrency):
                self.start(requests, open_streams)
            while open_streams:
                kind, flags, stream, payload = self.connection.read()
                if stream not in open_streams:
                    continue
                taken, status, body = open_streams[stream]
                if kind == HEADERS:
                    status = 200 if payload[0] == 0x88 else 0
                body += payload if kind == DATA else b""
                open_streams[stream] = taken, status, body
                if kind == RESET or kind in (HEADERS, DATA) and flags & END_STREAM:
                    del open_streams[stream]
                    round.done(status if kind != RESET else 0, body, taken)
                    self.start(requests, open_streams)
        except OSError as error:
            self.connection = None
            failed = len(open_streams) + sum(1 for _ in requests)
            for _ in range(failed):
                round.failed(error)

    def start(self, requests, open_streams):
        for url, taken in requests:
            open_streams[self.connection.get(urlsplit(url).path)] = taken, 0, b""
            return

    def close(self):
        if self.connection:
            self.connection.socket.close()


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def text(text):
    assert len(text) < 127
    return bytes([len(text)]) + text


kit.run(
    Streams,
    name="few-streams" if FEW else "trusts-anyone-over-http2" if TRUSTING else "streams",
    version="1",
    engine="sockets",
    http=["1.1", "2"],
    models=["events"],
    verify=["tail", "none"],
    tls=True,
    keepalive=[True],
    max_concurrency=100,
)
