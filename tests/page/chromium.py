# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that is driven over a pipe, by its DevTools protocol: no port, no package beside
Debian's chromium and Python. It has no network: every name is unknown to it and its proxy is nowhere.

    with Browser() as browser:
        tab = browser.open("page.html")
        tab.run("document.title")
"""
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

# Its deadline is long: a busy machine is slow, and no failure.
DEADLINE_S = max(60, int(os.environ.get("SKEIN_TEST_DEADLINE_MS", "0")) / 1000)
KEYS = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


class Browser:
    def __init__(self, program=None):
        self.profile = tempfile.mkdtemp(prefix="skein-page-")
        to_read, to_write = os.pipe(), os.pipe()
        words = [program or shutil.which("chromium"), "--headless=new", "--remote-debugging-pipe", "--disable-gpu",
                 "--no-first-run", "--disable-extensions", "--disable-sync", "--disable-background-networking",
                 "--disable-component-update", "--disable-default-apps", "--disable-dev-shm-usage",
                 "--force-color-profile=srgb", "--hide-scrollbars", "--proxy-server=127.0.0.1:9",
                 "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={self.profile}"]
        if os.geteuid() == 0:
            words.append("--no-sandbox")
        # Its ends of the pipes are the descriptors 3 and 4.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{to_write[0]} 4>&{to_read[1]}', "sh", *words, "about:blank"],
            pass_fds=(to_write[0], to_read[1]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "HOME": self.profile}, start_new_session=True)
        os.close(to_write[0])
        os.close(to_read[1])
        self.input, self.output = to_read[0], to_write[1]
        self.bytes, self.number, self.events = b"", 0, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except (OSError, EOFError):
            pass
        os.close(self.output)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.input)
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self, until):
        while b"\0" not in self.bytes:
            if not select.select([self.input], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("chromium says nothing more")
            more = os.read(self.input, 1 << 20)
            if not more:
                raise EOFError("chromium has ended")
            self.bytes += more
        one, self.bytes = self.bytes.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, session=None, **params):
        self.number += 1
        asked = {"id": self.number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        text = json.dumps(asked).encode() + b"\0"
        while text:
            text = text[os.write(self.output, text):]
        until = time.monotonic() + DEADLINE_S
        while True:
            got = self.message(until)
            if got.get("id") == self.number:
                assert "error" not in got, f"{method}: {got['error']}"
                return got.get("result", {})
            self.events.append(got)

    def event(self, name):
        """The first of that name that nobody has taken."""
        until = time.monotonic() + DEADLINE_S
        while True:
            for i, event in enumerate(self.events):
                if event.get("method") == name:
                    return self.events.pop(i)
            self.events.append(self.message(until))

    def open(self, path):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Tab(self, target, session, path)


class Tab:
    def __init__(self, browser, target, session, path):
        self.browser, self.target, self.session = browser, target, session
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.url = "file://" + os.path.abspath(path)
        self.browser.events.clear()
        self.call("Page.navigate", url=self.url)
        self.browser.event("Page.loadEventFired")

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
        self.browser.events.clear()

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def run(self, script):
        """What an expression comes to, as JSON; one that promises is waited for."""
        got = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in got, f"{script}: {got['exceptionDetails']}"
        return got["result"].get("value")

    def size(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=width < 600)

    def theme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def press(self, key):
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=KEYS[key])

    def picture(self, box):
        """A PNG of x, y, width, height."""
        x, y, width, height = box
        clip = {"x": x, "y": y, "width": width, "height": height, "scale": 1}
        return self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)["data"]

    def requests(self):
        """What was asked for, but for the page itself."""
        asked = [e["params"]["request"]["url"] for e in self.browser.events if e.get("method") == "Network.requestWillBeSent"]
        return [url for url in asked if url != self.url]

    def complaints(self):
        """Errors of the console, exceptions, violations of the policy, dialogs."""
        said = []
        for event in self.browser.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                said.append(params["exceptionDetails"].get("text", "exception") +
                            str(params["exceptionDetails"].get("exception", {}).get("description", "")))
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                said.append(params["entry"]["text"])
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                said.append(str(params["args"]))
            elif method == "Page.javascriptDialogOpening":
                said.append("a dialog: " + params["message"])
        return said
