"""Controls a browser through chromedriver's WebDriver protocol, with the standard library only."""

import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the protocol's name for an element reference

CHROMIUM_FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1",
]

KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "Up": "\ue013", "Down": "\ue015",
        "Left": "\ue012", "Right": "\ue014", "Home": "\ue011", "Control": "\ue009",
        "Shift": "\ue008"}


class WebDriverError(Exception):
    """chromedriver returned an error, or no answer."""


def missing():
    """Returns the reason why no browser can run here, or None."""
    for names in (("chromium", "chromium-browser", "google-chrome"), ("chromedriver",)):
        if not any(shutil.which(name) for name in names):
            return f"{names[0]} not found (Debian packages: chromium, chromium-driver)"
    return None


class Browser:
    """A headless browser with its own profile folder; use as a context manager."""

    def __init__(self, width=1280, height=900):
        self._size = (width, height)

    def __enter__(self):
        self._profile = tempfile.TemporaryDirectory(prefix="gpuprof-browser-", ignore_cleanup_errors=True)
        self._log = tempfile.TemporaryFile()
        self._driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=self._log, text=True)
        try:
            self._base = f"http://127.0.0.1:{self._read_port()}"
            self._session = self._open_session()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if getattr(self, "_session", None):
            try:
                self._call("DELETE", "")
            except WebDriverError:
                pass
        self._driver.terminate()
        self._driver.wait(60)
        self._driver.stdout.close()
        self._log.close()
        self._profile.cleanup()

    def _read_port(self):
        for line in self._driver.stdout:
            if "started successfully on port" in line:
                return int(line.rstrip(".\n").rsplit(" ", 1)[1])
        raise WebDriverError("chromedriver did not start")

    def _open_session(self):
        browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
        flags = CHROMIUM_FLAGS + [f"--user-data-dir={self._profile.name}", "--window-size=%d,%d" % self._size]
        options = {"binary": browser, "args": flags}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        return self._request("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def _request(self, method, path, body=None):
        data = None if method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)
        # The loopback address must not go through a proxy from the environment.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise WebDriverError(error.read().decode(errors="replace")[:600]) from error
        except OSError as error:
            raise WebDriverError(str(error)) from error

    def _call(self, method, path, body=None):
        return self._request(method, f"/session/{self._session}{path}", body)

    def open(self, url):
        self._call("POST", "/url", {"url": url})

    def script(self, text, *arguments):
        return self._call("POST", "/execute/sync", {"script": text, "args": list(arguments)})

    def find(self, selector):
        return self._call("POST", "/element", {"using": "css selector", "value": selector})

    def click(self, selector):
        self._pointer(selector, ["pointerDown", "pointerUp"])

    def hover(self, selector):
        self._pointer(selector, [])

    def _pointer(self, selector, buttons):
        # Clicks at the pointer position, not by element: chromedriver reports the middle of wide SVG groups as covered.
        x, y = self.script("const b = document.querySelector(arguments[0]).getBoundingClientRect();"
                           "return [Math.round(b.x + b.width / 2), Math.round(b.y + b.height / 2)];", selector)
        actions = [{"type": "pointerMove", "duration": 0, "x": x, "y": y, "origin": "viewport"}]
        actions += [{"type": button, "button": 0} for button in buttons]
        self._call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]})

    def keys(self, *keys):
        """Types keys one after another; keys in a tuple are held down together."""
        actions = []
        for key in keys:
            together = [KEYS.get(k, k) for k in (key if isinstance(key, tuple) else (key,))]
            actions += [{"type": "keyDown", "value": k} for k in together]
            actions += [{"type": "keyUp", "value": k} for k in reversed(together)]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def type(self, text):
        self.keys(*text)

    def colour_scheme(self, scheme):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._call("POST", "/goog/cdp/execute",
                   {"cmd": "Emulation.setEmulatedMedia", "params": {"media": "", "features": features}})

    def resize(self, width, height):
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": metrics})

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self._call("GET", "/screenshot")))

    def console_errors(self):
        entries = self._call("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def wait_for(self, text, seconds=30):
        end = time.monotonic() + seconds
        while not self.script("return " + text):
            if time.monotonic() > end:
                raise WebDriverError("waited in vain for: " + text)
            time.sleep(0.05)
