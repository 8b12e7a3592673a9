# Does not cheat: it opens a connection for each request, and resumes the TLS session of the one before.
import http.client
import os
import ssl
import sys
from urllib.parse import urlsplit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../drivers/python"))
import kit
import workers


class ResumesSessions(workers.Threads):
    def sender(self, job):
        url, context, session = urlsplit(job.url), ssl.create_default_context(cafile=job.ca), None

        def send(url_of_one):
            nonlocal session
            connection = http.client.HTTPConnection(url.hostname, url.port)
            connection.connect()
            if url.scheme == "https":
                connection.sock = context.wrap_socket(
                    connection.sock, server_hostname=url.hostname, session=session
                )
            connection.request("GET", urlsplit(url_of_one).path)
            response = connection.getresponse()
            body = response.read()
            if url.scheme == "https":
                session = connection.sock.session  # TLS 1.3 sends it with the response
            connection.close()
            return response.status, body

        return send


kit.run(
    ResumesSessions,
    name="resumes-sessions",
    version="1",
    engine="http.client",
    models=["threads"],
    tls=True,
    keepalive=[False],
    max_concurrency=100,
)
