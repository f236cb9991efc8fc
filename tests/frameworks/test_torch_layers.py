"""PyTorch: which layers a step goes to, against models whose layers spin for times that are known."""

import collections
import json
import statistics
import unittest

from framework import PROGRAM, FrameworkTest, last_line

PART, MOST_NS = 0.05, 0.3e6


class Layers(FrameworkTest):
    def train(self, *words, **more):
        done = self.hooked("torch_layers.py", *words, **more)
        self.rows = self.report()
        self.layers = {layer["path"]: layer for layer in self.rows["layers"] or ()}
        return done

    def reasons(self):
        return {row["what"]: row["reason"] for row in self.rows["inside"]["not_measured"]}

    def sampled(self):
        """Spans of layers by the stretch that they are in, and the bounds of each stretch."""
        spans = [record for record in self.records()
                 if record["kind"] == "span" and "sampled" in record["flags"]]
        bounds = {span["arg"]: (span["start_ns"], span["end_ns"]) for span in spans
                  if span["stage"] == "other" and span["end_ns"] > span["start_ns"]}
        layers = [span for span in spans if span["stage"] in ("forward", "backward")]
        return layers, bounds

    def assert_true_times(self, done, net="Net."):
        """Each sampled step against what its layers say that they spun: pairs, so that a busy machine
        is the same for both."""
        layers, bounds = self.sampled()
        truth = last_line(done)
        self.assertGreaterEqual(len(bounds), 3)
        updates = [record["start_ns"] for record in self.records()
                   if record["kind"] == "span" and record["name"] == "step"]
        off = {}
        for number in bounds:
            spun = truth[sum(start < bounds[number][0] for start in updates) + 1]
            found = {}
            for span in layers:
                if span["arg"] == number:
                    key = "%s %s" % (span["name"].removeprefix(net), span["stage"])
                    found[key] = found.get(key, 0) + span["end_ns"] - span["start_ns"]
            for key, true in spun.items():
                off.setdefault(key, []).append((found.get(key, 0), true))
        for key, pairs in off.items():
            difference = statistics.median(found - true for found, true in pairs)
            true = statistics.median(true for _, true in pairs)
            self.assertLessEqual(abs(difference), max(PART * true, MOST_NS), (key, pairs))
        return off

    def test_layers_that_spin_for_a_known_time(self):
        for word, steps in (("small", 40), ("large", 30), ("checkpoint", 30), ("medium", 80)):
            with self.subTest(word):
                done = self.train(word, str(steps), STEPSCOPE_LAYERS="2")
                self.assertEqual(len(self.assert_true_times(done)), 6)
        self.assert_a_tree_with_shares(last_line(done))

    def assert_a_tree_with_shares(self, truth):
        self.assertEqual([layer["path"] for layer in self.rows["layers"]], [
            "Net", "embed", "embed.0", "embed.1", "layers", "layers.0", "layers.0.up",
            "layers.0.act", "layers.0.down", "layers.1", "layers.1.up", "layers.1.act",
            "layers.1.down", "head"])
        self.assertEqual(self.layers["layers.0.act"]["class"], "ReLU")
        self.assertIsNone(self.layers["layers"]["class"])
        self.assertEqual(self.layers["layers.1.down"]["calls"], 1)
        inside = self.rows["inside"]
        self.assertGreater(inside["coverage"], 0.9)
        self.assertNotIn("layers", self.reasons())
        self.assertGreater(inside["own_cost_ns"], 0)
        for path, layer in self.layers.items():
            below = [other for name, other in self.layers.items()
                     if name.rpartition(".")[0] == path]
            for key in "forward_ns", "backward_ns":
                self.assertGreaterEqual(layer[key] * 1.000001, sum(other[key] for other in below))
        self.assertLessEqual(self.layers["Net"]["share"], 1)
        self.assertLess(self.layers["Net"]["share_ci"][0], self.layers["Net"]["share"])
        # What is spun takes longer on a busy machine, in all layers: the order stays.
        true = {path: sum(step["%s %s" % (path, stage)] for step in truth
                          for stage in ("forward", "backward"))
                for path in ("embed.1", "layers.0.down", "layers.1.down")}
        found = {path: self.layers[path]["forward_ns"] + self.layers[path]["backward_ns"]
                 for path in true}
        for path in true:
            self.assert_near(found[path] / sum(found.values()), true[path] / sum(true.values()), 0,
                             0.12, path)

    def test_weights_counters_modes_and_profiles_are_the_same(self):
        plain = last_line(self.plain("torch_layers.py", "same"))
        self.assertEqual(last_line(self.train("same", STEPSCOPE_LAYERS="2")), plain)
        layers, bounds = self.sampled()
        self.assertGreaterEqual(len(bounds), 50)
        self.assertTrue(any(span["stage"] == "backward" for span in layers))
        marks = [record["text"] for record in self.records()
                 if record["kind"] == "mark" and record["name"] == "layers not sampled"]
        self.assertEqual(marks, ["autograd is compiled"])

    def test_trainers(self):
        for word, above in (("trainer", "net."), ("lightning", "encoder.")):
            with self.subTest(word):
                self.train(word, STEPSCOPE_LAYERS="2")
                layer = self.layers[above + "embed.1"]
                self.assertEqual(layer["class"], "Spin")
                for key in "forward_ns", "backward_ns":
                    self.assertGreater(layer[key], 0)
                self.assertGreater(self.rows["inside"]["coverage"], 0.5)

    def test_a_comparison_names_the_layer_that_changed(self):
        self.train("small", "60", STEPSCOPE_LAYERS="2")
        before = self.runs + "/latest"
        self.train("slower", "60", STEPSCOPE_LAYERS="2")
        done = self.execute([PROGRAM, "compare", "--json", before, self.runs + "/latest"])
        layers = json.loads(done.stdout)["comparisons"][0]["layers"]
        self.assertEqual(layers[0]["path"], "layers.0.down")
        self.assertGreater(layers[0]["change"], 0)
        text = self.execute([PROGRAM, "compare", before, self.runs + "/latest"]).stdout
        self.assertRegex(text, r"By layer[^\n]*\n.*\n *layers\.0\.down ")

    def assert_no_stretch_stays_open(self, how, most):
        self.train(how, STEPSCOPE_LAYERS="1")
        layers, bounds = self.sampled()
        passes = collections.Counter(span["arg"] for span in layers if span["name"] == "Net"
                                     and span["stage"] == "forward")
        self.assertEqual(len(bounds), 2)  # a third one was open
        self.assertLessEqual(passes[3], most, passes)

    def test_updates_inside_the_backward_pass_leave_no_stretch_open(self):
        self.assert_no_stretch_stays_open("inside", 1)

    def test_device_that_begins_in_a_stretch_leaves_it_not_open(self):
        self.assert_no_stretch_stays_open("device", 0)

    def test_stretch_without_an_update_does_not_go_on_for_ever(self):
        self.assert_no_stretch_stays_open("never", 100)

    def test_an_error_inside_of_a_layer_is_the_scripts_own(self):
        plain = self.plain("torch_layers.py", "error", expect=1)
        self.assertEqual(self.hooked("torch_layers.py", "error", expect=1,
                                     STEPSCOPE_LAYERS="1").stderr.strip(),
                         plain.stderr.strip())

    def test_none_if_nobody_wants_them_or_the_run_is_short(self):
        for wanted, reason in (({"STEPSCOPE_LAYERS": "0"}, "STEPSCOPE_LAYERS says so"),
                               ({}, "too few updates to sample one")):
            self.train("small", "5", **wanted)
            self.assertIsNone(self.rows["layers"])
            self.assertEqual(self.reasons()["layers"], reason)

    def spent_ns(self):
        """What sampling had cost so far, after each stretch."""
        return [record["value"] for record in self.records()
                if record["kind"] == "counter" and record["name"] == "layers cost"]

    def test_layers_are_sampled_by_default_within_the_budget(self):
        self.train("plain", "1500")
        self.assertEqual(self.layers["0.up"]["class"], "Linear")
        self.assertGreaterEqual(self.rows["inside"]["samples"], 2)
        spent, steps = self.spent_ns(), self.rows["steps"]
        most = max(b - a for a, b in zip([0] + spent, spent))
        self.assertLess(spent[-1], 1500 * steps["steady"]["mean_ns"] / 1000 + 10e6 + 2 * most)
        self.assertLessEqual(self.rows["inside"]["own_cost_ns"], spent[-1])
        self.assertGreater(self.rows["inside"]["own_cost_ns"], 0)

    def test_marks_that_wait_for_another_thread_are_charged_and_given_up(self):
        self.train("waits", "30")
        marks = [record["text"] for record in self.records()
                 if record["kind"] == "mark" and record["name"] == "layers without backward"]
        self.assertEqual(marks, ["marks in the backward pass waited for another thread of Python"])
        self.assertGreater(self.spent_ns()[0], 25e6)

    def test_what_is_compiled_is_one_layer_and_the_report_says_so(self):
        for word in "compiled", "compiled_in_place":
            self.train(word, "40", STEPSCOPE_LAYERS="2")
            self.assertEqual([(layer["path"], layer["class"], layer["compiled"])
                              for layer in self.rows["layers"]],
                             [("Sequential", "Sequential", False), ("0", "Inner", True),
                              ("1", "Linear", False)])
            text = self.execute([PROGRAM, "report", self.runs + "/latest"]).stdout
            self.assertIn("(Inner, compiled)", text)
            self.assertIn("what is compiled runs as a whole", text)


if __name__ == "__main__":
    unittest.main()
