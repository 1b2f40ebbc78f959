"""Opens the heat map of `flame --time-series` in headless Chromium, selects time intervals, and runs the commands that it shows."""

import os
import pathlib
import random
import shlex
import subprocess
import tempfile
import unittest

import rig
import webdriver
from svg_test import SCREENSHOTS, twice

SLICE_NS = 250_000_000
SLICES = 150  # the slices are drawn as columns of two


def profile(slices):
    """Writes a profile with the given work in each slice, as lists of (work, ns). Works 1 and 2 are kernels, 3 is a copy."""
    lines = ["GPUPROF;3.1", f"META;interval_ns;{SLICE_NS}", "META;command;./app <&> --steps 3", "META;host;node <7>",
             "META;start_unix_ns;1795442700000000000", "STRING;1;app",
             "STRING;2;gemm", "STRING;3;relu", "PROCESS;1;1;0;0;1;0;0;0", "DEVICE;1;0;0;0;0", "USTACK;1;main;step"]
    lines += [f"WORK;{work};1;0;0;1;0;0;0;1;7;{op};{name};0"
              for work, op, name in ((1, "kernel", 2), (2, "kernel", 3), (3, "copy_htod", 0))]
    total = records = 0
    for slice_, works in enumerate(slices):
        for work, ns in works:
            lines.append(f"GPU;{slice_};{work};1;{ns};{ns};{ns};{ns * ns};0;{4096 if work == 3 else 0}")
            total += ns
            records += 1
    lines.append(f"END;{len(slices) * SLICE_NS};{records};{records};{total};{records};0;0")
    return "\n".join(lines) + "\n"


def made_up_work():
    """Returns random work with a visible gap."""
    chance = random.Random(7)
    return [[] if 60 <= slice_ < 75 else
            [(chance.randint(1, 3), chance.randint(1, 50_000_000)) for _ in range(chance.randint(1, 4))]
            for slice_ in range(SLICES)]


class TimeSeries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reason = webdriver.missing()
        if reason:
            raise unittest.SkipTest(reason)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-test.")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.shots = SCREENSHOTS
        cls.slices = made_up_work()
        (cls.folder / "my run.txt").write_text(profile(cls.slices))
        (cls.folder / "bin").mkdir()
        (cls.folder / "bin" / "gpuprof").symlink_to(os.path.abspath(os.environ["GPUPROF"]))
        cls.run_shell("gpuprof flame --time-series map.svg --unit ns 'my run.txt'")
        cls.run_shell("gpuprof flame --time-series bytes.svg --weight bytes --from 5s --to 10.25s -i 'my run.txt'")
        cls.browser = cls.enterClassContext(webdriver.Browser())

    @classmethod
    def run_shell(cls, command):
        environment = {**os.environ, "PATH": f"{cls.folder}/bin:{os.environ['PATH']}"}
        done = subprocess.run(["sh", "-c", command], cwd=cls.folder, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout

    def open(self, name="map.svg", size=(1280, 700), fragment=""):
        self.browser.open("about:blank")
        self.browser.resize(*size)
        self.browser.open((self.folder / name).as_uri() + fragment)

    def text(self, element):
        return self.browser.script("return document.getElementById(arguments[0]).textContent", element)

    def middle_of(self, cell):
        """Returns the centre of a cell in the window. Cells are drawn by colour, so only their position identifies them."""
        return self.browser.script("""
          const cells = Array.from(document.querySelectorAll('#gp-cells rect'));
          const at = (e, name) => Number(e.getAttribute(name));
          cells.sort((a, b) => at(a, 'x') - at(b, 'x') || at(a, 'y') - at(b, 'y'));
          const box = cells[arguments[0]].getBoundingClientRect();
          return [Math.round(box.x + box.width / 2), Math.round(box.y + box.height / 2)];""", cell)

    def drag(self, first, last):
        moves = [{"type": "pointerMove", "duration": 0, "x": x, "y": y, "origin": "viewport"}
                 for x, y in (self.middle_of(first), self.middle_of(last))]
        moves[1:1] = [{"type": "pointerDown", "button": 0}]
        moves.append({"type": "pointerUp", "button": 0})
        self.browser._call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": moves}]})

    def ns_between(self, first, last):
        return sum(ns for works in self.slices[first:last + 1] for _, ns in works)

    def check_selected(self, first, last):
        """Compares the shown selection, and the output of its commands, with sums over the test's own list."""
        command = self.text("gp-command")
        seconds = [f"{value:g}s" for value in (first * SLICE_NS / 1e9, (last + 1) * SLICE_NS / 1e9)]
        self.assertEqual(command,
                         f"gpuprof flame --from {seconds[0]} --to {seconds[1]} -i 'my run.txt' --unit ns")
        expected = self.ns_between(first, last)
        self.assertIn(f"({expected:,} ns)", self.text("gp-selected"))
        by_work = {}
        for line in self.run_shell(command).splitlines():
            stack, ns = line.rsplit(" ", 1)
            by_work[stack.rsplit(";", 1)[1]] = int(ns)
        self.assertEqual(sum(by_work.values()), expected)
        for work, name in ((1, "gemm_[G]"), (2, "relu_[G]"), (3, "[copy HtoD]_[G]")):
            own = sum(ns for works in self.slices[first:last + 1] for w, ns in works if w == work)
            self.assertEqual(by_work.get(name, 0), own, name)

    @twice
    def test_the_heading_shows_host_and_time(self):
        facts = "node <7>, 2026-11-23 14:05 UTC"
        self.open()
        self.assertEqual(self.text("gp-facts"), facts)
        self.open(size=(240, 700))  # in a narrow window the facts are on separate lines
        self.assertEqual(self.text("gp-facts").replace(" ", ""), facts.replace(" ", ""))
        self.assertIn("node &lt;7&gt;, 2026-11-23", (self.folder / "map.svg").read_text().split("<metadata")[0])

    @twice
    def test_a_window_is_selected_and_folded(self):
        self.open()
        self.drag(41, 58)  # from the lower cell of one column to the upper cell of another
        self.check_selected(41, 58)
        self.drag(99, 80)
        self.check_selected(80, 99)
        self.drag(7, 7)
        self.check_selected(7, 7)
        self.drag(0, SLICES - 1)
        self.check_selected(0, SLICES - 1)
        picture = self.text("gp-command-svg")
        self.run_shell(picture)
        name = shlex.split(picture)[-1]
        self.assertEqual(name, "flame-0s-37.5s.svg")
        self.assertIn(f"({self.ns_between(0, SLICES - 1):,} ns)", (self.folder / name).read_text())

    @twice
    def test_a_gap_can_be_selected(self):
        self.open()
        self.drag(60, 74)
        self.assertIn("0 ns, 0.00% of total", self.text("gp-selected"))

    @twice
    def test_the_keyboard_selects(self):
        self.open()
        self.browser.script("document.getElementById('gp-cells').focus()")
        self.browser.keys("Home", "Right", "Right", "Down")  # each column has two slices
        self.browser.keys(("Shift", "Right"), ("Shift", "Right"))
        self.check_selected(5, 9)
        self.browser.keys("Escape")
        self.assertEqual(self.text("gp-command"), "")

    @twice
    def test_the_page_address_restores_the_selection(self):
        self.open()
        self.drag(10, 21)
        address = self.browser.script("return location.hash")
        self.open(fragment=address)
        self.check_selected(10, 21)
        for bad in ("#select=5-150", "#select=9-3", "#select=x", "#select=1-99999999999999999999"):
            self.open(fragment=bad)
            self.assertEqual(self.text("gp-command"), "", bad)

    @twice
    def test_a_selection_works_with_another_weight(self):
        self.open("bytes.svg")
        self.assertEqual(self.browser.script("return document.querySelectorAll('#gp-cells rect').length") <= 21, True)
        self.drag(2, 5)
        command = self.text("gp-command")
        self.assertEqual(command, "gpuprof flame --from 5.5s --to 6.5s -i 'my run.txt' --weight bytes")
        copies = sum(work == 3 for works in self.slices[22:26] for work, _ in works)
        self.assertIn(" bytes) copied or filled, ", self.text("gp-selected"))
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in self.run_shell(command).splitlines()),
                         4096 * copies)

    @twice
    def test_hovering_shows_the_cell(self):
        self.open()
        x, y = self.middle_of(12)
        move = {"type": "pointerMove", "duration": 0, "x": x, "y": y, "origin": "viewport"}
        self.browser._call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [move]}]})
        self.assertEqual(self.text("gp-name"), "3s to 3.25s")
        self.assertIn(f"({self.ns_between(12, 12):,} ns)", self.text("gp-details-hint"))

    @twice
    def test_text_is_readable_in_both_widths_and_colour_schemes(self):
        for width, height in ((1280, 500), (640, 600)):
            for scheme in ("light", "dark"):
                self.browser.colour_scheme(scheme)
                self.open(size=(width, height))
                self.drag(20, 45)
                right = self.browser.script("return Math.max(...Array.from(document.querySelectorAll("
                                            "'text, rect, .gp-panel *'), (e) => e.getBoundingClientRect().right))")
                self.assertLessEqual(right, width)
                page, label, most, least = self.browser.script("""
                  const value = (css) => css.match(/[0-9.]+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0) / 765;
                  const of = (selector) => value(getComputedStyle(document.querySelector(selector)).fill);
                  return [of('#gp-page'), of('#gp-axes text'), of('.gp-key.h8 rect'), of('.gp-key.h1 rect')];""")
                self.assertGreater(abs(page - label), 0.4)
                self.assertGreater(abs(most - least), 0.3)
                self.assertEqual(page > 0.5, scheme == "light")
                self.browser.screenshot(self.shots / f"time-series-{scheme}-{width}.png")
        self.browser.colour_scheme("light")

    @twice
    def test_time_that_was_not_recorded_is_no_idle_time(self):
        second = 1_000_000_000
        text = "\n".join(line for line in profile(self.slices[:8]).splitlines() if not line.startswith("END"))
        end = [line for line in profile(self.slices[:8]).splitlines() if line.startswith("END")]
        text = text.replace("GPU;1;", "GPU;0;").replace("GPU;2;", "GPU;3;")  # slices 1 and 2 have no work
        for name, metas, windows in (
                ("gap.svg", [f"META;start_ns;{second}"], [(second, second + 400_000_000), (2 * second, 4 * second)]),
                ("ranged.svg", [f"META;start_ns;{second}", "META;nvtx_range;step <1>"], [(second, 9 * second)]),
                ("unknown.svg", [], [])):
            lines = text.splitlines() + metas + [f"WINDOW;{a};{b}" for a, b in windows] + end
            (self.folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
            self.run_shell(f"gpuprof flame --time-series {name} {name}.txt")
        keys = "return Array.from(document.querySelectorAll('.gp-key text'), (e) => e.textContent).slice(0, 2)"
        self.open("gap.svg")
        self.assertEqual(self.browser.script(keys), ["not recorded", "0 ns"])
        self.assertEqual(self.browser.script("return document.querySelectorAll('.hx rect').length"), 1 + 1)
        self.browser.screenshot(self.shots / "time-series-gap.png")
        self.drag(2, 2)
        self.assertEqual(self.text("gp-selected"), "Selected: 0.5s to 0.75s, not recorded")
        self.drag(1, 1)
        self.assertIn("0 ns, 0.00% of total, recorded for 150 ms of 250 ms", self.text("gp-selected"))
        self.drag(1, 2)
        self.assertIn("recorded for 150 ms of 500 ms", self.text("gp-selected"))
        self.drag(4, 5)
        self.assertNotIn("recorded for", self.text("gp-selected"))
        static = (self.folder / "gap.svg").read_text()
        self.assertIn("<title>0.5s to 0.75s\nnot recorded</title>", static)
        self.assertIn("<title>0.25s to 0.5s\n0 ns, recorded for 150 ms of 250 ms</title>", static)
        self.open("ranged.svg")
        self.assertEqual(self.browser.script(keys)[0], "0 ns inside the range")
        self.assertIn("Work outside of --nvtx-range step <1> was not recorded.", self.text("gp-name"))
        self.run_shell("gpuprof filter --from 0.75s gap.svg.txt -o later.txt && gpuprof flame --time-series later.svg later.txt")
        self.open("later.svg")  # the time before was recorded, but is not in this subset
        self.assertEqual(self.browser.script(keys)[0], "not recorded or left out")
        self.open("unknown.svg")
        self.assertEqual(self.browser.script(keys)[0], "0 ns or not recorded")

    @twice
    def test_names_stay_text(self):
        self.open()
        self.assertEqual(self.text("gp-subtitle"), "./app <&> --steps 3")
        self.assertEqual(self.browser.script("return document.querySelectorAll('script').length"), 1)


if __name__ == "__main__":
    rig.main()
