"""What is advised for batches that something makes next to the loop: by what it consists of, which the
adapters tell, and by what its Python threads were seen to do."""

import json
import unittest

import report_runs as runs
from builder import counter, frame, mark, sample
from report_runs import MS
from report_support import ReportTest
from support import FINE

STEPS = 200
INPUT, MAKING = 21, 22  # names
WAITS, RUNS, WAITS_FOR_LOCK = range(3)
SCRIPT_OPS = b"/usr/lib/python3/site-packages/tensorflow/python/ops/script_ops.py"
FRAMES = {"main": (90, b"<module>", b"train.py"), "jitter": (12, b"jitter", b"train.py"),
          "call": (269, b"FuncRegistry.__call__", SCRIPT_OPS),
          "wait": (7, b"wait", b"/usr/lib/python3.11/threading.py")}
NUMBERS = {name: i for i, name in enumerate(FRAMES, 1)}


def train(source, data=6 * MS, looks=(), stack=("jitter", "call")):
    """Steps of 4 ms and the wait for data; next to each a stack is sampled, and what its thread did."""
    thread, sampler = runs.Thread(), runs.Thread(tid=9, text=b"stepscope")
    random = runs.noise(3)
    thread.wait(50 * MS)
    if source:
        thread.mark(mark, source, name=INPUT)
    for i in range(STEPS):
        sampler.now = int(thread.now + data / 2)
        sampler.records.append(sample(sampler.now, 77, [NUMBERS[name] for name in stack]))
        if looks:
            sampler.mark(counter, float(looks[i % len(looks)]), name=MAKING)
        thread.span(1, data)
        thread.span(2, 2 * MS * (1 + 0.02 * next(random)))
        thread.span(3, 3 * MS / 2)
        thread.span(4, MS / 2)
        if i == 0:  # of what is evaluated: not of the training
            thread.mark(mark, b"arrays", name=INPUT)
    told = [frame(NUMBERS[name], line, function, file, *more)
            for name, (line, function, file, *more) in FRAMES.items()]
    names = runs.NAMES + ((INPUT, b"input", b"", 0, 0, 0), (MAKING, b"making a batch", b"", 0, 0, 0))
    return runs.process(thread, sampler, control=told, names=names)


class Input(ReportTest):
    count = 0

    def judge(self, source, **how):
        self.count += 1
        run = self.make_run("run-%d" % self.count, p=train(source, **how))
        self.found = json.loads(self.check(["report", "--json", run], FINE).stdout)
        self.text = " ".join(self.check(["report", "--hot", run], FINE).stdout.split())
        return next(f for f in self.found["findings"] if f["id"] == "input-bound")

    def test_what_is_missing_is_named_and_what_is_done_is_not(self):
        done = self.judge(b"tf.data prefetch")
        self.assertIn("prefetch() at its end", done["evidence"])
        self.assertIn(".cache()", done["advice"])
        self.assertNotRegex(done["advice"], r"num_parallel_calls|\.prefetch")
        self.assertIn("cached and runs ahead", self.judge(b"tf.data cache prefetch")["advice"])
        serial = self.judge(b"tf.data map:serial prefetch")
        self.assertIn("map() without num_parallel_calls", serial["evidence"])
        self.assertIn(".map(f, num_parallel_calls=tf.data.AUTOTUNE)", serial["advice"])
        self.assertNotRegex(serial["advice"], r"\.prefetch|PyDataset")
        self.assertIn(".interleave(f, num_parallel_calls",
                      self.judge(b"tf.data interleave:serial prefetch")["advice"])
        self.assertEqual(self.judge(b"tf.data cache")["advice"],
                         ".prefetch(tf.data.AUTOTUNE) at its end")

    def test_python_in_a_map_runs_one_at_a_time(self):
        found = self.judge(b"tf.data map:python prefetch", looks=[RUNS, WAITS_FOR_LOCK])
        self.assertIn("write jitter with operations of TensorFlow", found["advice"])
        self.assertNotIn("AUTOTUNE", found["advice"])
        self.assertIn("(the GIL)", found["evidence"])
        self.assertIn("100 % of the time in which batches are made goes into train.py:12 (jitter)",
                      found["evidence"])
        self.assertIn("data, in parallel: 200 samples", self.text)

    def test_python_that_waits_may_be_called_in_parallel(self):
        found = self.judge(b"tf.data map:serial map:python prefetch", looks=[WAITS])
        self.assertIn("mostly waits", found["evidence"])
        self.assertEqual(found["advice"], ".map(f, num_parallel_calls=tf.data.AUTOTUNE)")
        found = self.judge(b"tf.data map:python prefetch", looks=[WAITS])
        self.assertIn("num_parallel_calls=16", found["advice"])

    def test_a_generator_of_tf_data(self):
        found = self.judge(b"tf.data generator", looks=[RUNS])
        self.assertRegex(found["advice"], "whole batches .*prefetch")
        found = self.judge(b"tf.data generator prefetch", looks=[WAITS])
        self.assertIn("several generators", found["advice"])

    def test_workers_of_a_dataset_of_keras(self):
        # 6 of 10 ms are waited for: 1 / 0.4 workers keep up.
        found = self.judge(b"PyDataset workers=1", looks=[WAITS])
        self.assertIn("give the PyDataset workers=3: its code waits", found["advice"])
        found = self.judge(b"PyDataset workers=2", looks=[WAITS])
        self.assertIn("workers=5", found["advice"])
        found = self.judge(b"generator", looks=[WAITS])
        self.assertIn("make the generator a keras.utils.PyDataset with workers=3", found["advice"])
        found = self.judge(b"PyDataset workers=2")  # nothing was sampled
        self.assertIn("if it computes in Python use_multiprocessing=True", found["advice"])

    def test_a_dataset_that_computes_gets_processes_where_cores_are_idle(self):
        found = self.judge(b"PyDataset workers=1", looks=[RUNS])
        self.assertIn("workers=2, use_multiprocessing=True", found["advice"])
        found = self.judge(b"generator", looks=[RUNS], data=MS / 2)
        self.assertIn("no more workers", found["advice"])

    def test_a_thread_that_is_asked_for_nothing_makes_no_batch(self):
        found = self.judge(b"tf.data map:python prefetch", stack=("wait", "main"))
        self.assertNotIn("goes into", found["evidence"])
        self.assertIn("other threads: 200 samples", self.text)
        found = self.judge(b"tf.data map:python prefetch", stack=("wait", "call", "main"))
        self.assertNotIn("goes into", found["evidence"])
        self.assertIn("unless it only waits, write its function with operations", found["advice"])

    def test_without_a_word_the_advice_is_that_of_the_framework(self):
        self.assertNotIn("batches come from", self.judge(b"")["evidence"])


if __name__ == "__main__":
    unittest.main()
