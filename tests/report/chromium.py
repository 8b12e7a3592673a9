"""Drives a headless Chromium over its debugging pipe; needs nothing but Python and the browser."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
]


class BrowserError(Exception):
    """The browser does not start, does not respond, or refuses a command."""


class Chromium:
    """One browser with a profile of its own; close it, or use it in a `with`."""

    def __init__(self, path, patience=60):
        self.patience = patience
        self.profile = tempfile.mkdtemp(prefix="hecaton-chromium-")
        self.log = open(os.path.join(self.profile, "stderr"), "w+b")
        to_read, self.to = os.pipe()
        self.back, back_write = os.pipe()
        command = [path, *FLAGS, f"--user-data-dir={self.profile}", "about:blank"]
        # The browser reads commands from descriptor 3 and writes responses to 4.
        shell = f'exec "$0" "$@" 3<&{to_read} 4>&{back_write}'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, *command],
            pass_fds=(to_read, back_write),
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )
        os.close(to_read)
        os.close(back_write)
        self.number, self.buffer, self.events = 0, b"", []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the browser and removes its profile."""
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (BrowserError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        for descriptor in (self.to, self.back):
            os.close(descriptor)
        self.log.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, session=None, **parameters):
        """Sends a command and returns its result; events that come meanwhile are stored."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = memoryview(json.dumps(message).encode() + b"\0")
        while data:
            data = data[os.write(self.to, data) :]
        while True:
            response = self.receive(f"a response to {method}")
            if response.get("id") != self.number:
                self.events.append(response)
            elif "error" in response:
                raise BrowserError(f"{method}: {response['error'].get('message')}")
            else:
                return response["result"]

    def wait_for(self, method, session):
        """Waits until an event of this name has come."""
        while not any(e.get("method") == method and e.get("sessionId") == session for e in self.events):
            self.events.append(self.receive(method))

    def receive(self, what):
        """The next message of the browser."""
        deadline = time.monotonic() + self.patience
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.back], [], [], max(0, deadline - time.monotonic()))
            chunk = os.read(self.back, 1 << 20) if ready else b""
            if not chunk:
                self.log.seek(0)
                tail = self.log.read()[-600:].decode(errors="replace").strip()
                raise BrowserError(
                    f"no {what} from the browser within {self.patience} s; its last words: {tail or 'none'}"
                )
            self.buffer += chunk
        line, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(line)


class Page:
    """One new tab: its own cookies, its own requests, its own errors."""

    def __init__(self, browser, width, scheme, scripts=True):
        self.browser = browser
        context = browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        if not scripts:
            self.call("Emulation.setScriptExecutionDisabled", value=True)

    def call(self, method, **parameters):
        """Sends a command to this tab."""
        return self.browser.call(method, self.session, **parameters)

    def print_look(self, scheme):
        """Shows pages as they are printed."""
        self.call(
            "Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": scheme}]
        )

    def pdf(self):
        """The page on A4, as the browser prints it."""
        margins = {f"margin{side}": 0.394 for side in ("Top", "Bottom", "Left", "Right")}
        data = self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, printBackground=True, **margins)["data"]
        return base64.b64decode(data)

    def open(self, url):
        """Loads a page and waits until all of it is there."""
        self.browser.events.clear()
        failure = self.call("Page.navigate", url=url).get("errorText")
        if failure:
            raise BrowserError(f"{url}: {failure}")
        self.browser.wait_for("Page.loadEventFired", self.session)

    def evaluate(self, expression):
        """The value of an expression of JavaScript in the page."""
        response = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in response:
            raise BrowserError(response["exceptionDetails"]["exception"].get("description", "an exception"))
        return response["result"].get("value")

    def press_enter(self):
        """Presses and releases the key on whatever has the focus."""
        key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}
        self.call("Input.dispatchKeyEvent", type="keyDown", text="\r", **key)
        self.call("Input.dispatchKeyEvent", type="keyUp", **key)

    def seen(self, method):
        """The parameters of all events of this name since the page was opened."""
        mine = (e for e in self.browser.events if e.get("sessionId") == self.session)
        return [e["params"] for e in mine if e.get("method") == method]
