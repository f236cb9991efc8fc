"""PyTorch: a delay is found where it is, by the clock of the script itself."""

import json
import unittest

from truth import TruthTest

STAGE = {"dataset": "data", "collate": "data", "worker": "data", "forward": "forward",
         "backward": "backward", "optimizer": "optimizer", "other": "other", "generator": "other"}
STAGES = ("data", "forward", "backward", "optimizer", "other")


class Truth(TruthTest):
    def train(self, places, delays_ms):
        arguments = ",".join(places), ",".join(str(delay) for delay in delays_ms)
        return json.loads(self.hooked("torch_loop.py", *arguments).stdout)["loops"]

    def test_a_delay_is_in_its_stage(self):
        loops = self.train(STAGE, (1, 5, 20))
        steps = self.steps()
        for loop in loops:
            place, true = loop["place"], loop["steps"]
            found, steps = steps[:len(true)], steps[len(true):]
            stages = ("forward", "backward", "optimizer", "other") if place == "generator" else STAGES
            text = "%s, %g s" % (place, loop["delay"])
            self.assert_steps(found, true, stages, text)
            sums = {stage: sum(step["stages_ns"].get(stage, 0) for step in found)
                    for stage in STAGES}
            self.assertEqual(max(sums, key=sums.get), STAGE[place], text)
        self.assertEqual(steps, [])

    def test_lines_of_the_script_are_named(self):
        for place, function in (("other", "code_between"), ("generator", "by_hand")):
            self.train((place,), (20,))
            self.assert_hot(self.report(), "other", function)

    def test_evaluation_and_saves_are_cut_out(self):
        for place, times in (("eval", 12), ("checkpoint", 1)):
            loops = self.train((place,), (1, 5, 20, 1, 5, 20))
            found = sorted(self.report()["loops"], key=lambda loop: loop["start_ns"])
            self.assert_sums([loop["books"][place + "_ns"] for loop in found],
                             [loop["sums"][place] for loop in loops], times, place)


if __name__ == "__main__":
    unittest.main()
