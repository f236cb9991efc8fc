"""Secrets are in no file of a run and in no output of the commands that read it."""

import os
import unittest

from running import BUILD, RunTest, environment

WRITER = os.path.join(BUILD, "secret_writer")
PROCESSES = 3  # of the writer
VARIABLE = "XLA_FLAGS"  # one that is recorded
RUN = "stepscope-runs/latest"
READERS = (["report", RUN], ["report", "--json", RUN], ["info", RUN], ["info", "--json", RUN],
           ["dump", RUN], ["dump", "--json", RUN], ["list"])


class Secrets(RunTest):

    def written(self):
        """Path and bytes of all files below the folder, but those that a test put there."""
        for place, _, files in os.walk(self.path("stepscope-runs")):
            for name in files:
                with open(os.path.join(place, name), "rb") as file:
                    yield os.path.join(place, name), file.read()

    def printed(self):
        for words in READERS:
            done = self.stepscope(*words)
            self.assertEqual(done.returncode, 0, (words, done.stderr))
            yield " ".join(words), done.stdout + done.stderr

    def check_gone(self, secret):
        for path, data in self.written():
            self.assertNotIn(secret.encode(), path.encode() + data, path)
        for command, text in self.printed():
            self.assertNotIn(secret, text, command)

    def check_all(self, *options, secret, name, mark, argument, value, env=None):
        """The same secret in a command, in a variable, a name and a mark."""
        for packed in ([], ["--no-pack"]):
            done = self.run_it(*packed, *options, "--", WRITER, name, name, mark, argument,
                               env=env or environment(**{VARIABLE: value}))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn(secret.encode(), done.stdout + done.stderr)
            self.check_gone(secret)
            dump = self.stepscope("dump", RUN).stdout
            self.assertEqual(dump.count("note: note ***"), PROCESSES, dump)
            self.assertIn("load ***", dump)
            self.assertIn(" ***", self.facts("manifest")["command"])
            self.assertIn("env." + VARIABLE, dump)

    def test_what_the_rules_know(self):
        secret = "ghp_Zq7abcdefghijklmn"
        self.check_all(secret=secret, name=f"load {secret}", mark=f"note {secret}",
                       argument=f"{secret}", value=f"--x={secret}")

    def test_what_the_user_says(self):
        secret = "ACME-4711"
        self.check_all("--redact", "ACME-[0-9]+", secret=secret, name=f"load {secret}",
                       mark=f"note {secret}", argument=f"{secret}", value=f"--x={secret}")

    def test_the_variable_does_the_same(self):
        secret = "ACME-4711"
        self.check_all(secret=secret, name=f"load {secret}", mark=f"note {secret}",
                       argument=f"{secret}", value="",
                       env=environment(STEPSCOPE_REDACT="ACME-[0-9]+", **{VARIABLE: secret}))

    def test_an_expression_that_is_none(self):
        for options, env, says in (
                (["--redact", "("], {}, "--redact: '(' is not a POSIX extended regular expression"),
                ([], {"STEPSCOPE_REDACT": "["}, "STEPSCOPE_REDACT: '[' is not a POSIX extended"),
                (["--redact="], {}, "--redact is empty.")):
            done = self.run_it(*options, "--", "true", env=environment(**env))
            self.assertEqual(done.returncode, 2)
            self.assertIn(says, done.stderr.decode())
            self.assertEqual(self.runs(), [])


if __name__ == "__main__":
    unittest.main()
