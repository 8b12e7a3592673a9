# Clients with the interface of requests: as many threads as requests in flight, each with a Session of its own.
import workers


class Sessions(workers.Threads):
    def opened(self):  # a new Session
        raise NotImplementedError

    def once(self, method, url, **options):  # one request with a Session of its own
        raise NotImplementedError

    def sender(self, job):
        session, trust = self.opened(), job.ca or True
        session.headers.update({} if job.id_field else job.headers)
        session.trust_env = False  # no proxy of the environment, and no look at it for each request

        def send(url):
            method, headers, body = job.request()
            if job.keepalive:
                own = headers if job.id_field else None
                response = session.request(method, url, data=body, timeout=job.timeout, headers=own, verify=trust)
            else:  # as the quickstart does it: a session for each request
                response = self.once(method, url, data=body, timeout=job.timeout, headers=headers, verify=trust)
            return response.status_code, response.content

        return send


# One call of the audit.
def make(session, call):
    follow = {} if call.follow is None else {"allow_redirects": call.follow}
    response = session.request(
        call.method,
        call.url,
        headers=call.fields,
        data=call.body,
        timeout=call.timeout,
        verify=call.ca or True,
        proxies=call.proxy and {"http": call.proxy, "https": call.proxy},
        **follow,
    )
    return response.status_code, response.content


WORDS = ["method", "body", "fields", "timeout", "redirects", "cookies", "gzip", "raw-url", "tls", "proxy"]
