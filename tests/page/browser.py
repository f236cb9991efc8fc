"""Chromium by ChromeDriver's HTTP interface (W3C WebDriver), with the standard library alone."""

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request

DRIVER = shutil.which("chromedriver")
CHROMIUM = shutil.which("chromium")
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Browser:
    """One window without a network but the loopback. close() ends it."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="stepscope-browser-")
        self.driver = subprocess.Popen(
            [DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, "HOME": self.folder.name})
        self.address = f"http://127.0.0.1:{self.port()}"
        options = {
            "binary": CHROMIUM,
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--disable-background-networking", "--hide-scrollbars",
                     "--disable-component-update", "--window-size=1440,1000",
                     "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                     f"--user-data-dir={self.folder.name}/profile"],
        }
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})
        self.session = "/session/" + answer["sessionId"]

    def port(self):
        """The driver chooses one and says it."""
        for line in self.driver.stdout:
            found = re.search(r"successfully on port (\d+)", line)
            if found:
                return found.group(1)
        raise RuntimeError("chromedriver did not start")

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            self.address + path, method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        try:
            with DIRECT.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()) from error

    def post(self, path, **body):
        return self.call("POST", self.session + path, body)

    def devtools(self, command, **parameters):
        return self.post("/goog/cdp/execute", cmd=command, params=parameters)

    def open(self, path, fragment=""):
        self.post("/url", url="about:blank")
        self.log("browser")
        self.log("performance")
        self.post("/url", url=f"file://{path}{fragment}")

    def run(self, script, *arguments):
        return self.post("/execute/sync", script=script, args=list(arguments))

    def log(self, kind):
        return self.post("/se/log", type=kind)

    def requests(self):
        """Addresses that the page asked for since it was opened."""
        messages = (json.loads(entry["message"])["message"] for entry in self.log("performance"))
        return [m["params"]["request"]["url"] for m in messages
                if m["method"] == "Network.requestWillBeSent"]

    def drag(self, element, from_share, to_share):
        """Presses the button over an element, moves to the right and lets go."""
        box = self.run("arguments[0].scrollIntoView({block: 'center'});"
                       "const r = arguments[0].getBoundingClientRect();"
                       "return [r.left, r.top, r.width, r.height]", element)
        y = round(box[1] + box[3] / 2)
        places = [round(box[0] + box[2] * share) for share in (from_share, to_share)]

        def move(x):
            return {"type": "pointerMove", "duration": 50, "x": x, "y": y}
        self.post("/actions", actions=[{"type": "pointer", "id": "mouse", "actions": [
            move(places[0]), {"type": "pointerDown", "button": 0}, move(sum(places) // 2),
            move(places[1]), {"type": "pointerUp", "button": 0}]}])

    def press(self, key):
        self.post("/actions", actions=[{"type": "key", "id": "keys", "actions": [
            {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]}])

    def find(self, selector):
        return self.post("/element", using="css selector", value=selector)

    def look(self, width, height=900, dark=False):
        """Size of the window and its colours; back when the page has drawn itself with them."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=1, mobile=False)
        self.devtools("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        # Observers of sizes are called after the callbacks of a frame: before those of the next one.
        self.post("/execute/async", args=[], script="const done = arguments[0];"
                  "requestAnimationFrame(() => requestAnimationFrame(() => done()))")

    def screenshot(self, path, whole=True):
        picture = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def close(self):
        try:
            self.call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.driver.stdout.close()
            self.folder.cleanup()
