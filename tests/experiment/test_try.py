"""`stepscope try`: a trainer whose step costs what a variable says, beside whatever else runs."""

import json
import os
import unittest

from experiments import DATA, TRAINER, USAGE, ExperimentTest, tree

SCRIPT = f"exec {TRAINER} 0 ${{COST_US:-1000}} 0 0 ${{STEPS:-0}}"


class Try(ExperimentTest):
    def command(self):
        return ["--", "sh", "-c", SCRIPT]

    def test_gains_are_those_of_the_changes(self):
        out, _ = self.check("try", "--json", "--precision", "10%", "--what",
                            "env:COST_US=500,env:COST_US=1500,env:OTHER=1", *self.command())
        result = json.loads(out)
        first, again, half, more, none = result["arms"]
        self.assertEqual((first["arm"], first["gain"]), ("as it is", None))
        self.assertEqual(half["verdict"], "faster")
        self.assertAlmostEqual(half["gain"], 0.5, delta=0.1)
        self.assertEqual(more["verdict"], "slower")
        self.assertAlmostEqual(more["gain"], -0.5, delta=0.2)
        for arm in again, none:
            self.assertAlmostEqual(arm["gain"], 0, delta=0.15)
        self.assertEqual(result["winner"], "COST_US=500")
        self.assert_untouched()

    def test_nothing_that_helps(self):
        out, _ = self.check("try", "--precision", "10%", "--what", "env:COST_US=1500",
                            *self.command())
        self.assertIn("none of the changes makes it certainly faster", out)
        self.assertLessEqual(max(map(len, out.splitlines())), 80)

    def test_the_line_to_keep_is_quoted_for_a_shell(self):
        out, _ = self.check("try", "--precision", "10%", "--what", "env:COST_US=500",
                            *self.command())
        self.assertIn("keep COST_US=500 sh -c 'exec ", " ".join(out.split()))

    def test_the_winner_is_run_for_real(self):
        self.check("try", "--fix", "--dir", "kept", "--precision", "10%", "--what", "env:STEPS=50",
                   "--", "sh", "-c",
                   f"exec {TRAINER} 0 $((${{STEPS:-0}} ? 300 : 1000)) 0 0 $((${{STEPS:-0}} * 60))")
        self.assertIn("touched", tree(self.folder))
        out, _ = self.check("list", "--json", "kept")
        self.assertEqual(json.loads(out)[0]["steps"], 3000)

    def test_what_cannot_switch_changes_is_refused(self):
        for words in (), ("--what", "input,threads=1"):
            out, err = self.check("try", "--max-time", "60s", *words, *self.command(), code=DATA)
            self.assertEqual(out, "")
            self.assertRegex(err, "nothing to try that a report would warn about|takes PyTorch")
        self.assert_untouched()

    def test_bad_input(self):
        for words, sentence in ((("--what", "turbo"), "'turbo' cannot be tried"),
                                (("--what", "threads=none"), "threads takes a number"),
                                (("--what", "env:"), "'env:' cannot be tried"),
                                (("--what", "input,malloc"), "in two commands"),
                                (("--what", "input,turbo"), "has a word that cannot be tried"),
                                (("--fix", "--what", "input"), "--fix is for changes of the environment"),
                                (("--serial",), "--serial is for changes of the environment")):
            _, err = self.check("try", *words, *self.command(), code=USAGE)
            self.assertIn(sentence, err)
        _, err = self.check("try", "--what", "malloc", "--", "./not-there", code=DATA)
        self.assertIn("cannot run './not-there'", err)


if __name__ == "__main__":
    unittest.main()
