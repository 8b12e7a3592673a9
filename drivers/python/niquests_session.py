# niquests: a Session for each thread, over HTTP/1.1.
import calls
import kit
import niquests
import sessions

HTTP1 = {"disable_http2": True, "disable_http3": True}


class NiquestsDriver(sessions.Sessions):
    def opened(self):
        return niquests.Session(**HTTP1)

    def once(self, method, url, **options):
        with self.opened() as session:
            session.trust_env = False
            return session.request(method, url, **options)


calls.calls([*sessions.WORDS, *calls.OWN], lambda call: niquests.Session(**HTTP1), sessions.make)
kit.run(
    NiquestsDriver,
    name="niquests",
    version=niquests.__version__,
    engine="urllib3-future",
    models=["threads"],
    sends=["fields", "body"],
    knows=kit.EACH_REQUEST,
    max_concurrency=512,
)
