# requests: as many threads as requests in flight, each with a Session of its own, for sessions are not to be shared.
import kit, requests, workers


class RequestsDriver(workers.Threads):
    def sender(self, job):
        session = requests.Session()
        session.headers.update(job.headers)
        session.trust_env = False  # no proxy of the environment, and no look at it for each request

        def send(url):
            if job.keepalive:
                answer = session.request(job.method, url, timeout=job.timeout)
            else:  # as the quickstart does it: a session for each request
                answer = requests.request(job.method, url, timeout=job.timeout, headers=job.headers)
            return answer.status_code, answer.content

        return send


kit.run(RequestsDriver, name="requests", version=requests.__version__, engine="urllib3", models=["threads"],
        max_concurrency=512)
