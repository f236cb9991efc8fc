"""What the command says about the recorded runs of tests/data is what it said before, to the byte.

STEPSCOPE_CORPUS_AGAINST names another build, with which differences are shown; README.md says more.
"""

import os
import tempfile
import unittest

import check_corpus
import corpus
import make_corpus

PROGRAM = os.path.join(os.environ["STEPSCOPE_BUILD"], "stepscope")


class Corpus(unittest.TestCase):
    def test_every_output_is_the_same(self):
        with tempfile.TemporaryDirectory(prefix="stepscope-corpus-") as folder:
            check = check_corpus.Check(folder, PROGRAM, os.environ.get("STEPSCOPE_CORPUS_AGAINST"))
            if os.environ.get("CI") and not check.pages:
                self.fail("built without the script of the page: tools/web says why")
            found, count = check_corpus.differences(check)
        self.assertFalse(found, "%d of %d outputs differ:\n%s" % (
            len(found), count, "\n".join(found[:check_corpus.MOST_SHOWN])))

    def test_there_are_enough_runs(self):
        runs = {run for run, _ in corpus.read_expected() if not run.startswith("compare/")}
        self.assertGreaterEqual(len(runs), 60)

    def test_each_group_has_runs(self):
        expected = {run.partition("/")[0] for run, _ in corpus.read_expected()}
        for group in make_corpus.GROUPS:
            self.assertTrue(os.path.isfile(os.path.join(corpus.PACKS, f"{group}.tar.xz")), group)
            self.assertIn(group, expected)


if __name__ == "__main__":
    unittest.main()
