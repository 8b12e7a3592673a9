# A client on plain sockets and threads for cheats that play with processes; honest where a cheat does not say
# otherwise.
import http.client
import os
import sys
from urllib.parse import urlsplit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../drivers/python"))
import kit
import workers


class Cheat(workers.Threads):
    def sender(self, job):
        url = urlsplit(job.url)
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=job.timeout)

        def send(url):
            connection.request("GET", urlsplit(url).path, headers=job.headers)
            response = connection.getresponse()
            return response.status, response.read()

        return send


def run(cheat, name):
    kit.run(
        cheat,
        name=name,
        version="1",
        engine="http.client",
        models=["threads"],
        tls=False,
        keepalive=[True],
        max_concurrency=100,
    )
