"""Opens gpuprof's SVGs in headless Chromium from file:// and uses them as a reader would."""

import functools
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

import rig
import webdriver

SAMPLES = os.environ.get("SAMPLE_SVG", "build/test/runtime/svg/sample_svg")  # this program draws the samples
SCREENSHOTS = pathlib.Path(os.environ.get("SCREENSHOTS", "build/test/runtime/svg/screenshots"))

FRAMES = """
return Array.from(document.querySelectorAll('#gp-frames > g')).map((g) => ({
  label: g.getAttribute('aria-label'), shown: g.querySelector('text')?.textContent || '',
  width: Number(g.querySelector('rect').getAttribute('width')), x: Number(g.querySelector('rect').getAttribute('x')),
  y: Number(g.querySelector('rect').getAttribute('y')),
  hit: g.classList.contains('hit'), above: g.classList.contains('above'), level: Number(g.getAttribute('aria-level')),
  tab: g.getAttribute('tabindex')}));
"""


class Page:
    """A sample that is open in the browser."""

    def __init__(self, browser, folder, name):
        self.browser = browser
        browser.open("about:blank")  # forces a load, even if only the fragment of the address changes
        browser.resize(1280, 900)
        browser.open(f"{(folder / name).as_uri()}")

    def frames(self):
        return self.browser.script(FRAMES)

    def frame(self, name):
        found = [f for f in self.frames() if f["label"].startswith(name + ", ")]
        assert len(found) == 1, f"{len(found)} frames named {name!r}"
        return found[0]

    def select(self, name):
        """Returns a CSS selector for the frame of that name."""
        return f'#gp-frames > g[aria-label^="{name}, "]'

    def text(self, element):
        return self.browser.script("return document.getElementById(arguments[0]).textContent", element)

    def focused(self):
        return self.browser.script("const held = document.activeElement;"
                                   "return held ? (held.getAttribute('aria-label') || held.id).split(', ')[0] : '';")

    def search(self, pattern):
        """Types into the search field and reads it back: a browser on a busy machine may drop keys."""
        typed = None
        for _ in range(5):
            self.browser.keys("/")
            self.browser.keys(("Control", "a"))
            self.browser.type(pattern)
            typed = self.browser.script("return document.getElementById('gp-search').value")
            if typed == pattern:
                return
            time.sleep(0.5)
        raise AssertionError(f"the search field holds {typed!r} instead of {pattern!r}")


def near(a, b, tolerance=0.05):
    return abs(a - b) <= tolerance


def expected_match(folder, name, pattern):
    """Returns weight and number of matching frames, counted from the data independently of the script."""
    text = (folder / name).read_text()
    data = json.loads(re.search(r'<metadata id="gp-data">(.*?)</metadata>', text, re.S).group(1))
    total, matched, frames = data["frames"][2], 0, 0
    path = []
    for at in range(0, len(data["frames"]), 5):
        depth, label, ns = data["frames"][at:at + 3]
        del path[depth:]
        hit = depth > 0 and re.search(pattern, data["labels"][2 * label], re.I) is not None
        if hit and not any(path):
            matched += ns
        frames += hit
        path.append(hit)
    return matched, total, frames


def twice(test):
    """Repeats a failed test once: a browser on a busy machine may drop keys."""

    @functools.wraps(test)
    def wrapper(self):
        try:
            test(self)
            self.assertEqual(self.browser.console_errors(), [])
        except (AssertionError, webdriver.WebDriverError):
            self.browser.console_errors()
            try:
                test(self)
                self.assertEqual(self.browser.console_errors(), [])
            except (AssertionError, webdriver.WebDriverError):
                self.browser.screenshot(self.shots / f"failed-{test.__name__}.png")
                self.browser.console_errors()
                raise

    return wrapper


class Svg(unittest.TestCase):
    shots = SCREENSHOTS

    @classmethod
    def setUpClass(cls):
        reason = webdriver.missing()
        if reason:
            raise unittest.SkipTest(reason)
        cls.shots.mkdir(parents=True, exist_ok=True)
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-test.")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        subprocess.run([SAMPLES, folder.name], check=True)
        cls.browser = cls.enterClassContext(webdriver.Browser())

    def page(self, name):
        return Page(self.browser, self.folder, name)

    @twice
    def test_the_first_view_shows_all_visible_frames(self):
        page = self.page("narrow.svg")
        names = [f["label"].split(",")[0] for f in page.frames()]
        assert names == ["all", "app", "wide"], names  # frames narrower than 0.1 px are not drawn
        assert near(page.frame("all")["width"], 1260), page.frame("all")
        # The frame `wide` has 1 s of the total of 1.00001 s.
        assert near(page.frame("wide")["width"], 1260 * 1e9 / 1.00001e9), page.frame("wide")
        assert page.frame("wide")["label"] == "wide, 1.00 s (1,000,000,000 ns), 100.00% of total, 10 launches"
        assert self.browser.script("return document.documentElement.getAttribute('role')") == "group"

    @twice
    def test_a_click_zooms_and_reset_returns(self):
        page = self.page("deep.svg")
        before = page.frame("forward_step (train.py:97)")
        assert before["width"] < 1000, before
        self.browser.click(page.select("forward_step (train.py:97)"))
        after = page.frame("forward_step (train.py:97)")
        assert near(after["width"], 1260) and near(after["x"], 10), after
        assert page.frame("main (train.py:188)")["above"]
        labels = " ".join(f["label"] for f in page.frames())
        assert "backward_step" not in labels  # it is a sibling of the zoomed frame
        assert len([f for f in page.frames() if f["shown"]]) > 30
        assert re.search(r"#zoom=\d+$", self.browser.script("return location.href"))
        self.browser.hover(page.select("flash_attention (ops.py:12)"))
        assert page.text("gp-name") == "flash_attention (ops.py:12)"
        assert "of zoomed" in page.text("gp-details-hint"), page.text("gp-details-hint")
        self.browser.script("history.back()")
        self.browser.wait_for("!location.hash")
        self.browser.wait_for("document.getElementById('gp-reset').disabled")
        assert near(page.frame("forward_step (train.py:97)")["width"], before["width"])
        self.browser.click(page.select("flash_attention (ops.py:12)"))
        self.browser.click("#gp-reset")
        assert near(page.frame("forward_step (train.py:97)")["width"], before["width"])

    @twice
    def test_zooming_shows_frames_that_were_too_narrow(self):
        page = self.page("narrow.svg")
        page.search("tiny_")
        # The two frames that match have 9 us of 1.00001 s: too narrow to be drawn, but the search counts them.
        assert page.text("gp-matched") == "Matched 0.00%, 9.00 us (9,000 ns), 2 frames", page.text("gp-matched")
        number = self.browser.script("""
          const data = JSON.parse(document.getElementById('gp-data').textContent);
          for (let i = 0; i < data.frames.length / 5; ++i)
            if (data.labels[2 * data.frames[5 * i + 1]] === 'rare') return i;
        """)
        self.browser.open(f"{(self.folder / 'narrow.svg').as_uri()}#zoom={number}")
        self.browser.wait_for("document.querySelectorAll('#gp-frames > g').length === 5")
        assert near(page.frame("rare")["width"], 1260)
        # `rare` has 10 us: 6 us of tiny_a, 3 us of tiny_b, and 1 us of its own, which is the gap on the right.
        assert near(page.frame("tiny_a")["width"], 756) and near(page.frame("tiny_b")["width"], 378)
        assert page.frame("tiny_a")["label"].endswith("60.00% of zoomed, 1 launch"), page.frame("tiny_a")
        assert page.frame("tiny_b")["label"].endswith("30.00% of zoomed, 3 launches, 4.00 KiB (4,096 bytes) copied or filled")

    @twice
    def test_search_counts_nested_matches_once(self):
        page = self.page("deep.svg")
        pattern = "gemm|layernorm|forward"
        page.search(pattern)
        matched, total, frames = expected_match(self.folder, "deep.svg", pattern)
        text = page.text("gp-matched")
        assert text.startswith(f"Matched {100 * matched / total:.2f}%, "), (text, matched, total)
        assert f"({matched:,} ns), {frames} frames" in text, (text, matched, frames)
        hits = [f for f in page.frames() if f["hit"]]
        assert hits and all(re.search(pattern, f["label"], re.I) for f in hits)
        assert not any(re.search(pattern, f["label"].split(",")[0], re.I) for f in page.frames() if not f["hit"])
        self.browser.keys("Escape")
        assert page.text("gp-matched") == "" and not any(f["hit"] for f in page.frames())

    @twice
    def test_search_is_a_regular_expression(self):
        page = self.page("deep.svg")
        page.search("memcpy (HtoD")
        assert "Invalid regular expression" in page.text("gp-matched"), page.text("gp-matched")
        assert self.browser.script("return document.getElementById('gp-search').getAttribute('aria-invalid')") == "true"
        page.search("no such frame")
        assert page.text("gp-matched") == "No match"
        page.search("GEMM")  # a capital letter makes the search case-sensitive
        assert page.text("gp-matched") == "No match"
        page.search("^memcpy htod")
        assert page.text("gp-matched").endswith("14.2 ms (14,200,000 ns), 1 frame"), page.text("gp-matched")
        self.browser.keys("Enter")
        assert page.focused() == "memcpy HtoD pageable", page.focused()
        self.browser.open(self.browser.script("return location.href"))
        assert page.text("gp-matched").endswith("1 frame")  # the page address keeps the search

    @twice
    def test_the_keyboard_moves_zooms_and_searches(self):
        page = self.page("deep.svg")
        self.browser.keys(("Control", "f"))
        assert page.focused().startswith("Search frames"), page.focused()
        self.browser.keys("Escape")
        assert page.focused() == "all", page.focused()
        self.browser.keys("Up", "Up")
        assert page.focused() == "_start", page.focused()
        assert self.browser.script("return document.getElementById('gp-ring').getAttribute('visibility')") == "visible"
        assert page.text("gp-name") == "_start"
        for _ in range(6):
            self.browser.keys("Up")
        assert page.focused() == "train_epoch (train.py:141)", page.focused()
        self.browser.keys("Up")  # moves to the widest callee
        assert page.focused() == "forward_step (train.py:97)", page.focused()
        self.browser.keys("Left")
        assert page.focused() == "backward_step (train.py:109)", page.focused()
        self.browser.keys("Right", "Enter")
        assert near(page.frame("forward_step (train.py:97)")["width"], 1260)
        assert page.focused() == "forward_step (train.py:97)"  # redrawing keeps the focus
        self.browser.keys("Down")
        assert page.focused() == "train_epoch (train.py:141)"
        assert [f["tab"] for f in page.frames()].count("0") == 1  # one tab stop for the whole graph
        self.browser.keys("Escape")
        assert page.frame("forward_step (train.py:97)")["width"] < 1000
        self.browser.keys("Home")
        assert page.focused() == "all"
        stops = []
        for _ in range(4):
            self.browser.keys("Tab")
            stops.append(page.focused())
        assert {"gp-search-button"} <= set(stops) and any(s.startswith("Search frames") for s in stops), stops

    @twice
    def test_width_follows_the_window(self):
        page = self.page("deep.svg")
        for width in (1600, 700, 360):
            self.browser.resize(width, 800)
            self.browser.wait_for(f"document.documentElement.getAttribute('width') === '{width}'")
            assert near(page.frame("all")["width"], width - 20)
            right = self.browser.script("return Math.max(...Array.from(document.querySelectorAll('text, .gp-bar *'),"
                                   " (e) => e.getBoundingClientRect().right))")
            assert right <= width, (right, width)

    @twice
    def test_hostile_names_stay_text(self):
        page = self.page("hostile.svg")
        self.browser.hover('#gp-frames > g:nth-child(4)')
        page.search("script|<|&")
        assert self.browser.script("return window.pwned") is None
        assert self.browser.script("return document.querySelectorAll('script').length") == 1
        assert self.browser.script("return document.querySelectorAll('b').length") == 0
        shown = {f["label"].split(", ")[0] for f in page.frames()}
        for name in ("<script>window.pwned=1</script>", "]]><script>window.pwned=2</script>", "${window.pwned=3}`'\\",
                     "</metadata></svg>\"'&amp;<!--", "line break", "bad \ufffd\ufffd utf8 \ufffd"):
            assert name in shown, (name, shown)

    @twice
    def test_marks_are_not_shown_as_missing_data(self):
        page = self.page("graphs.svg")
        fills = self.browser.script("""
          const fill = (name) => {
            const frame = [...document.querySelectorAll('#gp-frames g')].find((g) => g.querySelector('text') &&
              g.querySelector('text').textContent.startsWith(name));
            return getComputedStyle(frame.querySelector('rect')).fill;
          };
          return [fill('[captured at]'), fill('[captured bef'), fill('rank 0')];""")
        assert len(set(fills)) == 3, fills
        self.browser.hover(page.select("[captured at]"))
        assert "range, capture" in page.text("gp-details-hint"), page.text("gp-details-hint")
        legend = page.text("gp-legend")
        assert "range, capture" in legend and "note: data is missing" in legend, legend
        self.page("deep.svg")
        assert "range, capture" not in page.text("gp-legend")  # a picture without marks does not mention them

    @twice
    def test_empty_and_large_graphs_work(self):
        page = self.page("empty.svg")
        assert "no GPU work" in page.text("gp-empty")
        page.search("x")
        assert page.text("gp-matched") == "No match"
        page = self.page("large.svg")
        assert (self.folder / "large.svg").stat().st_size < 15e6
        drawn = len(page.frames())
        assert 1000 < drawn <= 8001, drawn
        assert "left out" in page.text("gp-notice")

    @twice
    def test_text_is_readable_in_both_colour_schemes(self):
        self.page("deep.svg")
        lightness = {}
        for scheme in ("light", "dark"):
            self.browser.colour_scheme(scheme)
            lightness[scheme] = self.browser.script("""
              const value = (css) =>
            css.match(/[0-9.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 765;
              const of = (selector) => value(getComputedStyle(document.querySelector(selector)).fill);
              return {page: of('#gp-page'), title: of('#gp-title text'), frame: of('#gp-frames g:nth-child(9) rect'),
                      label: of('#gp-frames g:nth-child(9) text')};""")
        self.browser.colour_scheme("light")
        light, dark = lightness["light"], lightness["dark"]
        assert light["page"] > 0.95 and light["title"] < 0.3 and light["frame"] - light["label"] > 0.4, light
        assert dark["page"] < 0.15 and dark["title"] > 0.7 and dark["label"] - dark["frame"] > 0.4, dark

    @twice
    def test_no_number_is_cut_in_a_narrow_window(self):
        page = self.page("deep.svg")
        data = self.browser.script("return JSON.parse(document.getElementById('gp-data').textContent)")
        self.browser.resize(400, 900)
        self.browser.wait_for("document.documentElement.getAttribute('width') === '400'")
        whole = " ".join(data["total"].split())
        lines = self.browser.script("return [...document.querySelectorAll('#gp-total tspan')].map((t) => t.textContent)")
        assert len(lines) > 1 and " ".join(lines) == whole, (lines, whole)
        notice = self.browser.script("return [...document.querySelectorAll('#gp-notice tspan')].map((t) => t.textContent)")
        assert " ".join(notice) == data["notice"], notice
        self.browser.keys("/", "Escape", "Up", "Up")
        details = self.browser.script(
            "return [...document.querySelectorAll('#gp-details-hint tspan')].map((t) => t.textContent)")
        assert " launches" in " ".join(details) and "CPU native" in " ".join(details), details
        assert "\u2026" not in "".join(lines + notice + details), (lines, notice, details)

    @twice
    def test_the_header_has_no_gap_and_cuts_no_text(self):
        for width in (600, 640, 700, 740, 840, 900, 1000, 1600):
            page = self.page("deep.svg")
            data = self.browser.script("return JSON.parse(document.getElementById('gp-data').textContent)")
            self.browser.resize(width, 800)
            self.browser.wait_for(f"document.documentElement.getAttribute('width') === '{width}'")
            hint, text, gap = self.browser.script("""
                const box = (id) => document.getElementById(id).getBoundingClientRect();
                const lines = (id) => [...document.getElementById(id).childNodes].map((t) => t.textContent).join(' ');
                return [lines('gp-name'), lines('gp-details-hint'), box('gp-title').top - box('gp-save-svg').bottom];""")
            assert hint == data["hint"] and "1,234 samples" in hint, (width, hint)
            assert text.endswith("s shows all callers and callees of a frame."), (width, text)
            assert gap < 25, (width, gap)
            page.search("gemm")
            cut = self.browser.script("""
                const status = document.getElementById('gp-matched').getBoundingClientRect();
                const texts = document.createRange();
                texts.selectNodeContents(document.getElementById('gp-matched'));
                const bar = document.getElementById('gp-tools').getBoundingClientRect();
                return texts.getBoundingClientRect().bottom - Math.min(status.bottom, bar.bottom);""")
            assert cut <= 0.5, (width, cut, page.text("gp-matched"))
            self.browser.screenshot(self.shots / f"header-{width}.png")

    @twice
    def test_details_follow_the_focus_and_ignore_a_resting_pointer(self):
        page = self.page("deep.svg")
        self.browser.hover(page.select("flash_attention (ops.py:12)"))
        assert page.text("gp-name") == "flash_attention (ops.py:12)"
        self.browser.keys("/", "Escape", "Home", "Up", "Up")
        assert page.text("gp-name") == "_start" == page.focused(), (page.text("gp-name"), page.focused())
        self.browser.keys("Enter")  # the zoom moves other frames below the pointer
        time.sleep(0.3)
        assert page.text("gp-name") == "_start", page.text("gp-name")

    @twice
    def test_the_inverted_view_shows_callers_above(self):
        page = self.page("deep.svg")
        total = page.frame("all")["label"]
        self.browser.keys("i")
        assert self.browser.script("return location.hash") == "#view=inverted"
        assert "callers above" in page.text("gp-name"), page.text("gp-name")
        assert page.frame("all")["label"] == total
        leaf = page.frame("memcpy HtoD pageable")
        assert leaf["level"] == 2 and "14.2 ms (14,200,000 ns)" in leaf["label"], leaf
        search = "gemm|layernorm|forward"
        page.search(search)
        matched, whole, _ = expected_match(self.folder, "deep.svg", search)
        assert page.text("gp-matched").startswith(f"Matched {100 * matched / whole:.2f}%, "), page.text("gp-matched")
        self.browser.keys("Escape")
        self.browser.click("#gp-inverted")
        assert page.frame("memcpy HtoD pageable")["level"] > 10
        self.browser.open((self.folder / "inverted.svg").as_uri())  # gpuprof itself has inverted this picture
        assert "callers above" in page.text("gp-name"), page.text("gp-name")
        assert page.frame("memcpy HtoD pageable")["level"] == 2
        self.browser.keys("i")
        assert page.frame("memcpy HtoD pageable")["level"] > 10

    @twice
    def test_the_sandwich_view_shows_callers_and_callees(self):
        page = self.page("deep.svg")
        name = "_call_impl (torch/nn/modules/module.py:1773)"
        of = self.browser.script("""
          const data = JSON.parse(document.getElementById('gp-data').textContent);
          let [sum, until] = [0, -1];
          for (let i = 0; i < data.frames.length; i += 5) {
            if (until >= 0 && data.frames[i] <= until) until = -1;
            if (until < 0 && data.labels[2 * data.frames[i + 1]] === arguments[0]) {
              sum += data.frames[i + 2];
              until = data.frames[i];
            }
          }
          return sum;""", name)
        page.search("^_call_impl")
        self.browser.keys("Enter", "s")
        frame = page.frame(name)
        assert near(frame["width"], 1260) and f"({of:,} ns)" in frame["label"], (frame, of)
        rows = self.browser.script("""
          return Object.fromEntries([...document.querySelectorAll('#gp-frames > g')].map((g) =>
            [g.getAttribute('aria-label').split(', ')[0], Number(g.querySelector('rect').getAttribute('y'))]));""")
        assert rows["forward_step (train.py:97)"] > rows[name] > rows["forward (model.py:40)"], rows
        link = self.browser.script("return location.href")
        assert "#view=sandwich&frame=" in link, link
        self.browser.keys("Down")
        assert page.focused() in ("forward_step (train.py:97)", "torch::autograd::Engine::evaluate_function(...)")
        self.browser.open("about:blank")
        self.browser.open(link)
        assert near(page.frame(name)["width"], 1260)
        self.browser.keys("Escape", "Escape")
        assert self.browser.script("return location.hash").find("view") < 0

    @twice
    def test_invalid_links_show_the_complete_graph(self):
        for fragment in ("#view=sandwich&frame=999999", "#view=sandwich&frame=", "#view=nonsense&zoom=-1", "#zoom=1e99",
                         "#view=inverted&zoom=99999999", "#search=%E0%A4%A", "#view=sandwich&frame=0x1"):
            self.browser.open("about:blank")
            self.browser.open((self.folder / "narrow.svg").as_uri() + fragment)
            assert self.browser.script("return document.querySelectorAll('#gp-frames > g').length") > 1, fragment

    @twice
    def test_the_map_marks_and_zooms(self):
        page = self.page("deep.svg")
        mark = "return document.getElementById('gp-map-mark').getAttribute(arguments[0])"
        assert self.browser.script(mark, "visibility") == "hidden"
        before = page.frame("forward_step (train.py:97)")
        self.browser.click(page.select("forward_step (train.py:97)"))
        assert near(float(self.browser.script(mark, "x")), before["x"], 0.2), before
        assert near(float(self.browser.script(mark, "width")), before["width"], 0.2), before
        self.browser.click("#gp-reset")
        self.browser.click("#gp-map-page")
        assert re.search(r"#zoom=\d+$", self.browser.script("return location.href"))

    @twice
    def test_saving_writes_the_visible_subset(self):
        page = self.page("deep.svg")
        self.browser.script("const make = URL.createObjectURL;"
                            "URL.createObjectURL = (blob) => { window.saved = blob; return make(blob); };")
        self.browser.click(page.select("flash_attention (ops.py:12)"))
        self.browser.click("#gp-save-folded")
        self.browser.script("window.text = ''; window.saved.text().then((text) => { window.text = text; })")
        self.browser.wait_for("window.text")
        lines = self.browser.script("return window.text").splitlines()
        assert len(lines) == 4 and sum(int(line.rsplit(" ", 1)[1]) for line in lines) == 19_700_000, lines
        assert all("flash_attention (ops.py:12);flash_fwd_kernel<64, 128, 128>_[G];" in line for line in lines), lines
        part = self.saved_svg()
        self.browser.open(part.as_uri())
        assert page.text("gp-total").startswith("Total of this part: 19.7 ms (19,700,000 ns)"), page.text("gp-total")
        assert near(page.frame("flash_attention (ops.py:12)")["width"], 1260)
        assert page.frame("stall_wait")["label"].startswith("stall_wait, 3.40 ms (3,400,000 ns), 17.26% of total")
        assert "backward_step" not in part.read_text().split("gp-data")[1].split("</metadata>")[0]

    @twice
    def test_saving_writes_the_sandwich_view(self):
        page = self.page("deep.svg")
        name = "_call_impl (torch/nn/modules/module.py:1773)"
        page.search("^_call_impl")
        self.browser.keys("Enter", "s")
        above = page.frame("forward (model.py:40)")
        below = page.frame("forward_step (train.py:97)")
        total = re.search(r"\(([\d,]+) ns\)", page.frame(name)["label"]).group(1)
        assert self.browser.script("return document.getElementById('gp-save-folded').disabled")
        part = self.saved_svg()
        self.browser.open(part.as_uri())
        assert total + " ns" in page.text("gp-total"), page.text("gp-total")
        assert near(page.frame(name)["width"], 1260)
        for before, after in ((above, page.frame("forward (model.py:40)")),
                              (below, page.frame("forward_step (train.py:97)"))):
            assert near(before["width"], after["width"]) and before["y"] == after["y"], (before, after)
        # The saved picture shows one function only. It has no stacks to invert, and prints that.
        self.browser.keys("i")
        assert "one function only" in page.text("gp-matched"), page.text("gp-matched")
        page.search("forward")
        assert re.fullmatch(r"Matched \d+ frames?", page.text("gp-matched")), page.text("gp-matched")
        # If this picture is zoomed to a caller of _call_impl and saved, it has no callees, and _call_impl is as wide as the caller.
        self.browser.keys("Escape", "Escape")
        self.browser.click(page.select("forward_step (train.py:97)"))
        self.browser.open(self.saved_svg().as_uri())
        assert near(page.frame(name)["width"], 1260) and near(page.frame("forward_step (train.py:97)")["width"], 1260)
        assert page.frame("forward_step (train.py:97)")["y"] > page.frame(name)["y"]
        assert "forward (model.py:40)" not in {frame["label"].split(", ")[0] for frame in page.frames()}

    def saved_svg(self):
        self.browser.script("const make = URL.createObjectURL;"
                            "URL.createObjectURL = (blob) => { window.saved = blob; return make(blob); };")
        self.browser.click("#gp-save-svg")
        self.browser.script("window.text = ''; window.saved.text().then((text) => { window.text = text; })")
        self.browser.wait_for("window.text")
        part = self.folder / "part.svg"
        part.write_text(self.browser.script("return window.text"))
        return part

    @twice
    def test_a_page_with_tables_sorts_and_escapes_names(self):
        self.browser.open((self.folder / "page.html").as_uri())
        self.browser.resize(1280, 900)
        page = Page.__new__(Page)
        page.browser, page.folder = self.browser, self.folder
        names = "return [...document.querySelector('tbody').rows].map((row) => row.cells[0].textContent)"
        assert self.browser.script(names) == ["<script>window.pwned=1</script>", "heavy", "light"]
        self.browser.click("th:nth-child(2) button")
        assert self.browser.script(names)[0] == "heavy"
        self.browser.click("th:nth-child(2) button")
        assert self.browser.script(names)[0] == "<script>window.pwned=1</script>"
        self.browser.click("th:nth-child(1) button")
        assert self.browser.script(names) == ["<script>window.pwned=1</script>", "heavy", "light"]
        self.browser.click("th:nth-child(1) button")
        assert self.browser.script(names)[0] == "light"
        assert page.frames() and page.text("gp-search-button") == "Search"
        assert self.browser.script("return window.pwned") is None
        # Even an injected script does nothing: the page runs only its own scripts.
        self.browser.script("const s = document.createElement('script'); s.textContent = 'window.pwned = 2';"
                            "document.body.append(s);")
        assert self.browser.script("return window.pwned") is None
        assert any("Content Security Policy" in error for error in self.browser.console_errors())

    def test_screenshots_can_be_taken(self):
        page = self.page("deep.svg")
        for scheme in ("light", "dark"):
            self.browser.colour_scheme(scheme)
            self.browser.screenshot(self.shots / f"{scheme}.png")
            page.search("gemm|layernorm")
            self.browser.screenshot(self.shots / f"{scheme}-searched.png")
            self.browser.keys("Escape")
            self.browser.click(page.select("forward_step (train.py:97)"))
            self.browser.screenshot(self.shots / f"{scheme}-zoomed.png")
            self.browser.click("#gp-reset")
        self.browser.colour_scheme("light")


if __name__ == "__main__":
    rig.main()
