#!/usr/bin/env python3
"""Opens `export --format speedscope` in the real speedscope (its npm package) in headless Chromium.

GPUPROF_SPEEDSCOPE names the folder of the unpacked package; without it, npm fetches the package.
"""

import functools
import glob
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import rig

sys.path.insert(0, os.path.join(rig.SOURCE, "test/runtime/svg"))
import webdriver  # pylint: disable=wrong-import-position

GOLDEN = os.path.join(rig.SOURCE, "test/golden")


def package(folder):
    """Returns the folder with speedscope's index.html, or None."""
    given = os.environ.get("GPUPROF_SPEEDSCOPE")
    if not given and shutil.which("npm"):
        try:
            subprocess.run(["npm", "pack", "--silent", "speedscope@1"], cwd=folder, capture_output=True, check=False,
                           timeout=120, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return None
        for archive in glob.glob(os.path.join(folder, "speedscope-*.tgz")):
            subprocess.run(["tar", "-xzf", archive, "-C", folder], check=True)
            given = os.path.join(folder, "package")
    if not given:
        return None
    found = glob.glob(os.path.join(given, "dist/release/index.html"))
    return os.path.dirname(found[0]) if found else None


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class SpeedscopeTest(rig.RuntimeTest):
    def test_the_real_speedscope_opens_the_export(self):
        with tempfile.TemporaryDirectory() as folder:
            site = package(folder)
            if site is None:
                self.skipTest("no speedscope (npm package)")
            served = os.path.join(self.folder, "site")
            shutil.copytree(site, served)
            for name in ("train", "stalls", "python"):
                self.gpuprof("-q", "export", "--format", "speedscope", "-o", os.path.join(served, name + ".json"),
                             os.path.join(GOLDEN, name + ".txt"))
            with open(os.path.join(served, "bad.json"), "w", encoding="ascii") as file:
                file.write("{}")
            server = http.server.ThreadingHTTPServer(
                ("127.0.0.1", 0), functools.partial(Quiet, directory=served))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.addCleanup(server.server_close)
            self.addCleanup(server.shutdown)
            self.look(f"http://127.0.0.1:{server.server_port}")

    def look(self, site):
        reason = webdriver.missing()
        if reason:
            self.skipTest(reason)
        with webdriver.Browser() as browser:
            self.look_with(browser, site)

    def look_with(self, browser, site):
        for name, texts in (("train", ["GPU time", "python3 train.py"]), ("stalls", ["GPU time", "./train"]),
                            ("python", ["GPU time"])):
            shown = self.page(browser, f"{site}/index.html#profileURL={site}/{name}.json", texts[0])
            for text in texts:
                self.assertIn(text, shown)
        # This error for an unreadable file proves that the checks above can fail.
        with self.assertRaisesRegex(webdriver.WebDriverError, "Unrecognized format"):  # the page shows it as an alert
            self.page(browser, f"{site}/index.html#profileURL={site}/bad.json", "GPU time", 10)

    def page(self, browser, address, awaited, seconds=30):
        browser.open("about:blank")
        browser.open(address)
        deadline = time.monotonic() + seconds
        shown = ""
        while awaited not in shown and time.monotonic() < deadline:
            time.sleep(0.2)
            shown = browser.script("return document.title + '\\n' + document.body.innerText")
        return shown


if __name__ == "__main__":
    rig.main()
