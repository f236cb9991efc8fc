"""Real TensorBoard reads what we write: its EventAccumulator while the file grows, its server, and
a browser that shows the page.

STEPSCOPE_FRAMEWORKS_PYTHON is an interpreter that has TensorBoard. With STEPSCOPE_SCREENSHOTS=DIR
pictures of its page are kept there, to be looked at."""

import json
import os
import re
import subprocess
import sys
import time
import unittest
import urllib.parse
import urllib.request

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "page"))

import browser  # noqa: E402 (tests/page/browser.py)
import event_reader  # noqa: E402
from test_live import BARS, MEAN, PATIENCE_S, LiveTest, demo  # noqa: E402

PYTHON = os.environ.get("STEPSCOPE_FRAMEWORKS_PYTHON", "")
SCREENSHOTS = os.environ.get("STEPSCOPE_SCREENSHOTS")
HERE = os.path.dirname(os.path.abspath(__file__))
SECTIONS = ("1 step time", "2 stages", "3 throughput", "callbacks", "pauses", "epochs", "metrics",
            "machine")


@unittest.skipUnless(PYTHON, "STEPSCOPE_FRAMEWORKS_PYTHON names no Python with TensorBoard")
class TensorBoardTest(LiveTest):
    def train(self, steps=600):
        """A training that has ended, in logs."""
        process = self.start(demo(steps), "--quiet")
        self.assertEqual(process.wait(PATIENCE_S), 0)


class Reader(TensorBoardTest):
    def follow(self, folder):
        """TensorBoard's reader on a folder: call it to see what it has now."""
        reader = subprocess.Popen([PYTHON, os.path.join(HERE, "accumulate.py"), folder], text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=self.environment())
        self.addCleanup(reader.stderr.close)
        self.addCleanup(reader.stdout.close)
        self.addCleanup(reader.wait)
        self.addCleanup(reader.stdin.close)

        def look():
            reader.stdin.write("\n")
            reader.stdin.flush()
            line = reader.stdout.readline()
            self.assertTrue(line, reader.stderr.read() if not line else "")
            return json.loads(line)
        return look

    def test_it_follows_a_file_that_grows(self):
        process = self.start(demo(2600), "--quiet")
        self.wait_for(process, self.events, "the first events")
        look = self.follow(self.run_folder())
        first = look()
        self.wait_for(process, lambda: len(look()["scalars"][MEAN]) > len(first["scalars"][MEAN]),
                      "more than at first")
        self.assertEqual(process.wait(PATIENCE_S), 0)
        self.check_all(look())

    def check_all(self, found):
        ours = event_reader.curves(self.run_folder())
        row, = ours.pop("_hparams_/session_start_info")
        self.assertEqual(found["row"], row[2].hparams)
        self.assertEqual(found["row"]["verdict"], "input-bound")
        self.assertGreater(found["row"]["step ms"], 0)
        self.assertEqual(sorted([*found["scalars"], *found["tensors"]]), sorted(ours))
        for tag, points in found["scalars"].items():
            self.assertEqual(points, [[step, wall, value.scalar]
                                      for step, wall, value in ours[tag]])
        for tag, seen in found["tensors"].items():
            points = [[step, wall, value.text or [list(bar) for bar in value.bars]]
                      for step, wall, value in ours[tag]]
            self.assertEqual(seen["points"], points, tag)
            self.assertEqual(seen["description"], ours[tag][0][2].description, tag)
        self.assertEqual({tag: seen["plugin"] for tag, seen in found["tensors"].items()},
                         {BARS: "histograms", "verdict/findings": "text"})


class Server(TensorBoardTest):
    """`tensorboard --logdir` on a free port of the loopback."""

    def serve(self, *options):
        log = open(os.path.join(self.folder, "log"), "w+", encoding="utf-8")
        self.addCleanup(log.close)
        server = subprocess.Popen(
            [PYTHON, "-m", "tensorboard.main", "--logdir", self.logs, "--port", "0",
             "--host", "127.0.0.1", "--reload_interval", "1", *options],
            stdout=log, stderr=log, cwd=self.folder,
            env={**self.environment(), "TF_CPP_MIN_LOG_LEVEL": "3"})
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)

        def address():
            with open(log.name, encoding="utf-8") as text:
                return re.search(r"at (http://\S+)", text.read())
        self.wait_for(server, address, "the address of TensorBoard")
        return address()[1]

    def ask(self, address, path, **query):
        url = address.rstrip("/") + "/data/plugin/" + path + "?" + urllib.parse.urlencode(query)
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            return json.load(answer)

    def wait_until_loaded(self, address):
        late = time.monotonic() + PATIENCE_S
        while not self.ask(address, "text/tags"):  # the verdict is written last
            self.assertLess(time.monotonic(), late, "never loaded")
            time.sleep(0.2)

    def test_its_server_gives_our_values(self):
        self.train()
        run = os.path.basename(self.run_folder())
        ours = event_reader.curves(self.run_folder())
        for options in ((), ("--load_fast", "false")):
            with self.subTest(options=options):
                address = self.serve(*options)
                self.wait_until_loaded(address)
                tags = self.ask(address, "scalars/tags")[run]
                self.assertEqual({tag.split("/")[0] for tag in tags}, set(SECTIONS))
                for tag in tags:
                    points = self.ask(address, "scalars/scalars", run=run, tag=tag)
                    self.assertEqual(points, [[wall, step, value.scalar]
                                              for step, wall, value in ours[tag]])
                bars = self.ask(address, "histograms/histograms", run=run, tag=BARS)
                self.assertEqual([point[2] for point in bars],
                                 [[list(bar) for bar in value.bars] for _, _, value in ours[BARS]])
                texts = self.ask(address, "text/text", run=run, tag="verdict/findings")
                self.assertIn("<h1>input-bound</h1>", texts[-1]["text"])
                self.assertIn("<strong>input-bound</strong>", texts[-1]["text"])

    def test_runs_make_a_table(self):
        self.train()
        self.train(700)
        for options in ((), ("--load_fast", "false")):
            with self.subTest(options=options):
                address = self.serve(*options)
                self.wait_until_loaded(address)
                url = address.rstrip("/") + "/data/plugin/hparams/session_groups"
                wanted = {"sliceSize": 10, "allowedStatuses": ["STATUS_UNKNOWN", "STATUS_SUCCESS"]}
                ask = urllib.request.Request(url, json.dumps(wanted).encode(),
                                             {"Content-Type": "application/json"})
                with urllib.request.urlopen(ask, timeout=PATIENCE_S) as answer:
                    rows = [group["hparams"] for group in json.load(answer)["sessionGroups"]]
                self.assertEqual(sorted(row["planned steps"] for row in rows), [600, 700])
                self.assertEqual([row["verdict"] for row in rows], ["input-bound"] * 2)

    @unittest.skipUnless(browser.DRIVER and browser.CHROMIUM, "there is no chromium")
    def test_a_browser_shows_our_sections(self):
        self.train()
        address = self.serve()
        self.wait_until_loaded(address)
        window = browser.Browser()
        self.addCleanup(window.close)
        window.look(1440, 1400)
        for tab, words in (("timeseries", SECTIONS), ("text", ("input-bound", "because", "try")),
                           ("histograms", (BARS,))):
            window.post("/url", url="about:blank")
            window.post("/url", url=f"{address}#{tab}")
            self.wait_for_words(window, words)
            if SCREENSHOTS:
                window.screenshot(os.path.join(SCREENSHOTS, f"tensorboard-{tab}.png"), whole=False)

    def wait_for_words(self, window, words):
        """In all of the page, shadow trees too."""
        script = """const words = [], look = node => {
                        if (node.nodeType == 3) words.push(node.data);
                        if (node.shadowRoot) look(node.shadowRoot);
                        node.childNodes.forEach(look); };
                    look(document.body); return words.join(" ")"""
        late = time.monotonic() + PATIENCE_S
        while True:
            shown = window.run(script)
            missing = [word for word in words if word not in shown]
            if not missing:
                return
            self.assertLess(time.monotonic(), late, f"never shown: {missing}")
            time.sleep(0.2)


if __name__ == "__main__":
    unittest.main()
