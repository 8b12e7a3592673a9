# urllib3: as many threads as requests in flight, which share one pool of as many connections.
import kit, urllib3, workers


class Urllib3Driver(workers.Threads):
    def __init__(self, job):
        # The default keeps one connection of a host; its documentation asks threads to set `maxsize`.
        self.http = urllib3.PoolManager(maxsize=job.concurrency, block=True, retries=False, timeout=job.timeout)
        self.headers = job.headers if job.keepalive else {**job.headers, "Connection": "close"}
        super().__init__(job)

    def sender(self, job):
        def send(url):
            answer = self.http.request(job.method, url, headers=self.headers)
            return answer.status, answer.data

        return send

    def close(self):
        super().close()
        self.http.clear()


kit.run(Urllib3Driver, name="urllib3", version=urllib3.__version__, engine="http.client", models=["threads"],
        max_concurrency=512)
