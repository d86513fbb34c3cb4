# SPDX-License-Identifier: GPL-2.0
"""
A headless Chromium, driven through the pipe of its DevTools: opens a page, evaluates
expressions in it, types, clicks, and knows which requests the page made.
Nothing but Python's own library is needed.
"""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def program():
    """The first browser that is installed, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page in one browser."""

    def __init__(self, width=1400, height=900, timeout=120):
        self.timeout = timeout
        self.requests = []
        self.errors = []
        self.loaded = False
        self.last = 0
        self.buffer = b""
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        # The browser reads commands from its descriptor 3 and writes to 4.
        commands, self.to = os.pipe()
        self.back, answers = os.pipe()

        def descriptors():
            # Out of the way first: either may be 3 or 4 already.
            a, b = os.dup(commands), os.dup(answers)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [program(), "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
             f"--window-size={width},{height}", f"--user-data-dir={self.profile.name}"],
            preexec_fn=descriptors, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.to)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.back)
        self.profile.cleanup()

    def _message(self, deadline):
        """The next message; events are taken note of."""
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.back], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.back, 1 << 20)
            if not part:
                raise EOFError("the browser is gone")
            self.buffer += part
        raw, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(raw)
        method, params = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"].get("text", "exception"))
        elif method == "Page.loadEventFired":
            self.loaded = True
        return message

    def call(self, command, **params):
        """A DevTools command; its result."""
        self.last += 1
        message = {"id": self.last, "method": command, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self.timeout
        while True:
            answer = self._message(deadline)
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{command}: {answer['error']}")
                return answer["result"]

    def open(self, path):
        """Opens a file and waits until it is loaded."""
        self.loaded = False
        self.call("Page.navigate", url=f"file://{os.path.abspath(path)}")
        deadline = time.monotonic() + self.timeout
        while not self.loaded:
            self._message(deadline)

    def value(self, expression):
        """What an expression is in the page; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True,
                           returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression):
        """Waits until an expression is true."""
        deadline = time.monotonic() + self.timeout
        while not self.value(expression):
            if time.monotonic() > deadline:
                raise TimeoutError(f"never true: {expression}")
            time.sleep(0.02)

    def type(self, text):
        """Types into what has the focus."""
        self.call("Input.insertText", text=text)

    def click(self, x, y):
        """Presses and releases the mouse's left button."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def wheel(self, x, y, delta):
        """Turns the wheel."""
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta)
