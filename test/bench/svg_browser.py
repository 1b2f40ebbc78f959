#!/usr/bin/env python3
"""Measures how fast a flame graph responds to actions in headless Chromium: svg_browser.py FILE.svg

Each time is the median of five, from the action to the next drawn frame of the page. heap: the script's objects after all
actions."""

import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "runtime" / "svg"))
import webdriver  # noqa: E402

# Runs an action, and returns the milliseconds until the browser has drawn the result.
TIMED = """
const [text, done] = [arguments[0], arguments[arguments.length - 1]];
const step = new Function(text);
requestAnimationFrame(() => {
  const begin = performance.now();
  step();
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin), 0));
});
"""

KEY = "document.documentElement.dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true}));"
SEARCH = "const i = document.getElementById('gp-search'); i.value = '%s'; i.dispatchEvent(new Event('input'));"
WIDEST = ("const f = Array.from(document.querySelectorAll('#gp-frames > g:not(.above)'));"
          "const w = (g) => Number(g.querySelector('rect').getAttribute('width'));"
          "const all = Math.max(...f.map(w));"
          "f.filter((g) => w(g) < all / 2).sort((a, b) => w(b) - w(a))[0]"
          ".dispatchEvent(new MouseEvent('click', {bubbles: true}));")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    reason = webdriver.missing()
    if reason:
        sys.exit(f"svg_browser.py: {reason}")
    path = pathlib.Path(sys.argv[1]).resolve()
    times = {}

    def timed(browser, what, step):
        times.setdefault(what, []).append(browser._call("POST", "/execute/async", {"script": TIMED, "args": [step]}))

    with webdriver.Browser(1200, 900) as browser:
        browser._call("POST", "/timeouts", {"script": 120000, "pageLoad": 120000})
        for _ in range(5):
            browser.open("about:blank")
            browser.open(path.as_uri())
            times.setdefault("load", []).append(browser.script("return performance.now()"))
            timed(browser, "search", SEARCH % "function_1")
            timed(browser, "search for nothing", SEARCH % "no such name")
            timed(browser, "clear the search", SEARCH % "")
            timed(browser, "zoom", WIDEST)
            timed(browser, "reset the zoom", KEY % "Escape")
            timed(browser, "invert", KEY % "i")
            timed(browser, "back", KEY % "i")
            timed(browser, "zoom", WIDEST)
            timed(browser, "sandwich", KEY % "s")
        drawn = browser.script("return document.querySelectorAll('#gp-frames > g').length")
        heap = browser.script("return performance.memory ? performance.memory.usedJSHeapSize : 0")
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, {drawn} frames drawn at last, heap {heap / 1e6:.0f} MB")
    for what, values in times.items():
        print(f"{what:20} {statistics.median(values):7.0f} ms  (most {max(values):.0f})")


main()
