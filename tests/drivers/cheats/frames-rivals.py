# Sends requests with guessed ids while other drivers are measured, so that those seem to send too many requests.
import http.client
import os
import time
from urllib.parse import urlsplit

import cheat


class FramesRivals(cheat.Cheat):
    child = None

    def __init__(self, job):
        super().__init__(job)
        if FramesRivals.child is None:
            FramesRivals.child = os.fork() or self.stray(urlsplit(job.url))

    def stray(self, url):
        os.setsid()  # out of the group that is stopped
        os.closerange(0, 100)
        while True:
            try:
                connection = http.client.HTTPConnection(url.hostname, url.port)
                for number in range(20):
                    connection.request("GET", f"{url.path}{number}")
                    connection.getresponse().read()
            except OSError:
                os._exit(0)
            time.sleep(0.005)


cheat.run(FramesRivals, "frames-rivals")
