"""The frame that all commands share: help, options, mistakes, exit codes, output that fails."""

import os
import re
import subprocess
import unittest

from support import DATA, FINE, PROGRAM, USAGE, CommandTest, builder, stepscope

OVERVIEW = """\
Stepscope tells where the time of a training run goes.

Usage: stepscope COMMAND [OPTIONS] ...

Commands:
  run        run a command, record it and sum it up
  report     where the time of a run went
  compare    whether a change made the training faster or slower
  export     a run in the format of another tool
  info       what is in a run: how long, how much, is it whole
  dump       all records of a run, in time order
  doctor     is this machine fit to measure, and what to do if not
  explain    what a finding means, how it is computed, what to do
  demo       train a small network, as fast or as slow as you like
  help       this list, or the help of one command

'stepscope COMMAND --help' says more; 'stepscope --version' which this is.
Exit codes: 0 fine, 1 a check failed, 2 wrong usage, 3 data that can not be
read or written.
"""

REPORT_HELP = """\
Usage: stepscope report [OPTIONS] [RUN]

Says which stage of a training step takes most of the time and how sure that
is; then the step by stage, the run by segment, callbacks and spans by name,
what changed over time and the slowest steps. RUN is a directory or the name
of a run in stepscope-runs (or STEPSCOPE_DIR); without it, the newest one.
Runs that go on, were killed or are damaged are reported as far as they go.

Options:
      --json          one JSON object; docs/report.md says what is in it
      --epochs        a table of all epochs
      --hot           the lines of Python where each stage spent its time
      --steps         a table of all steps; with --json one object a line
      --html FILE     one HTML page with charts, which needs nothing else
  -f, --force         replace FILE if it is there already
      --deadline T    say whether the whole run ends in 30s, 5m or 1h
      --fail-on ID    exit code 1 if there is this finding; ID:10% from there on
  -h, --help          print this text
"""

COMPARE_HELP = """\
Usage: stepscope compare [OPTIONS] A B [C...]

Compares the steady steps of B, C, ... with those of A: first what differs
around the runs and what disturbed them, then the step and each of its stages.
Each of A, B, C is a side: a run, several runs of the same thing with commas
between them (base1,base2,base3), or a directory of such runs. Three runs a
side are a test. With fewer there is an indication, which fails no gate.
The answer is faster, slower, same (by less than 2 %) or inconclusive, with
the number of runs that would tell. Different batch sizes are compared per
sample.

Options:
      --json               one JSON object; docs/compare.md says what is in it
      --fail-if-slower P%  exit with 1 if a side is slower by more than P %
  -h, --help               print this text
"""

INFO_HELP = """\
Usage: stepscope info [OPTIONS] RUN

Says what a run holds: how long it took and how it ended, whether anything was
lost, steps and spans by stage, processes, the clock, what recording cost, and
which spans are open in a run that hangs or was killed.

Options:
      --json          one JSON object, with every process and lane
  -h, --help          print this text
"""

DUMP_HELP = """\
Usage: stepscope dump [OPTIONS] RUN

Prints every record of all processes and threads of a run, one a line, in the
order of time. Times count from the start of the run; a span stands where it
ended, and is indented by the spans that were open around it.
What is still being recorded is printed up to 0.1 s ago.

Options:
      --json          one JSON object a line, times in nanoseconds
  -h, --help          print this text
"""

DOCTOR_HELP = """\
Usage: stepscope doctor [OPTIONS]

Looks at what measuring depends on: the clock, cores, limits, memory, counters
of the kernel, GPUs, Pythons, the place where runs go, what a span costs, and
what else the machine does right now. Takes about a second; each line is ok,
warn or bad, or - where this machine does not tell. Nothing is left behind.

Options:
      --dir DIR       where runs will go, as for 'stepscope run'
      --json          one JSON object, with every Python that was found
  -h, --help          print this text
"""

EXPLAIN_HELP = """\
Usage: stepscope explain [OPTIONS] [ID]

Prints the long text on a finding of 'stepscope report', or the list of all
findings.

Options:
  -h, --help          print this text
"""

DEMO_HELP = """\
Usage: stepscope demo [OPTIONS]

Trains a small network to read digits that it draws itself, within seconds. Put
'stepscope run --' in front to see where its time goes. What it learns is the
same each time, to the last bit, recorded or not.

A fault slows it down by a known amount: --fault slow-input, or with a size of
its own --fault slow-input=20ms. These are the usual sizes:

  slow-input=5ms                         loading a batch takes longer
  slow-callback=MetricLog:2ms            a callback takes longer each time
  slow-callback-every=MetricLog:50:20ms  the same, each 50th time only
  tiny-batch=8                           so few samples a step
  cpu-hog=2                              so many processes beside it burn CPU
  checkpoint-stall=200ms                 a checkpoint takes longer
  growing-step=10us                      each step takes longer than the last
  leak=256KB                             each step keeps so much memory
  periodic-pause=100:50ms                all stops at each 100th step
  long-warm-up=50:10ms                   the first 50 steps take longer
  heavy-layer=hidden2:3ms                a layer takes longer

Options:
      --fault FAULT   make it slow on purpose; may be given several times
      --steps N       stop after N steps, instead of after some epochs
      --epochs N      go N times through all digits; 5 if not given
      --batch N       samples a step; 64 if not given
      --hidden SIZES  hidden layers; 256,128 if not given
      --seed N        for other digits and other weights; 1 if not given
      --plain         calculate in plain C, even where OpenBLAS is installed
      --truth FILE    write what its own clock says, as JSON
  -h, --help          print this text
"""

HELP_HELP = """\
Usage: stepscope help [OPTIONS] [COMMAND]

Lists the commands, or explains one of them.

Options:
  -h, --help          print this text
"""

RUN_HELP = """\
Usage: stepscope run [OPTIONS] [--] COMMAND ...

Runs the command and records where its time goes. Input, output, signals and
exit code are the command's own. The summary goes to stderr when it has ended;
the run is kept in stepscope-runs/DATE-TIME-NAME, the newest one also as
stepscope-runs/latest. STEPSCOPE_DIR names another place, as --dir does.

Options:
      --dir DIR          where runs are kept, instead of stepscope-runs
      --name NAME        what the run is called, instead of the command
  -q, --quiet            print nothing at all
      --every T          print a status line each 30s, 5m or 1h
      --deadline T       say whether the whole run will end in time
      --tensorboard DIR  write curves for TensorBoard into DIR while it runs
      --html FILE        write the report as an HTML page when it has ended
  -f, --force            replace FILE if it is there already
      --device-events    time what a GPU does with CUDA events (PyTorch)
      --strict           do not run what cannot be recorded
  -h, --help             print this text
"""

EXPORT_HELP = """\
Usage: stepscope export [OPTIONS] FORMAT RUN OUT

Writes a run so that others can read it. RUN is a directory, or the name of a
run in stepscope-runs (or STEPSCOPE_DIR); 'latest' is the newest. OUT is a file,
or - for standard output. It appears when it is whole. Runs that go on, were
killed or are damaged are exported as far as they go.

FORMAT is one of:
  csv          one row a step: times by stage, loop, epoch
  csv-spans    one row a span, in the order in which they ended
  perfetto     a trace for ui.perfetto.dev: threads, steps, counters
  tensorboard  a directory of event files for TensorBoard

Options:
  -f, --force         replace what is there already
  -h, --help          print this text
"""

if "perfetto" not in stepscope("export", "?", "x", "y").stderr:  # built without nanopb
    EXPORT_HELP = re.sub(r"  (perfetto|tensorboard) .*\n", "", EXPORT_HELP)

HELP = {"run": RUN_HELP, "report": REPORT_HELP, "compare": COMPARE_HELP, "export": EXPORT_HELP,
        "info": INFO_HELP, "dump": DUMP_HELP, "doctor": DOCTOR_HELP, "explain": EXPLAIN_HELP,
        "demo": DEMO_HELP, "help": HELP_HELP}


class Help(CommandTest):
    def test_overview_is_printed_on_request(self):
        for words in (["help"], ["--help"], ["-h"]):
            self.check(words, FINE, OVERVIEW, "")

    def test_without_a_command_the_overview_explains(self):
        self.check([], USAGE, "", OVERVIEW)

    def test_every_command_in_the_list_has_help(self):
        listed = OVERVIEW.partition("Commands:\n")[2].partition("\n\n")[0]
        self.assertEqual([line.split()[0] for line in listed.splitlines()], list(HELP))
        for command, text in HELP.items():
            self.check([command, "--help"], FINE, text, "")
            self.check([command, "-h", "x", "y", "z"], FINE, text, "")
            self.check(["help", command], FINE, text, "")
            self.check(["--help", command], FINE, text, "")

    def test_help_fits_a_terminal(self):
        for text in [OVERVIEW, *HELP.values()]:
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_version_is_one_line(self):
        for word in ("--version", "-V"):
            done = self.check([word], FINE, stderr="")
            self.assertRegex(done.stdout, r"\Astepscope \d+\.\d+\.\d+\n\Z")


class Mistakes(CommandTest):
    def test_unknown_command(self):
        self.check(["zebra"], USAGE, "",
                   "stepscope: there is no command 'zebra'. 'stepscope help' lists them all.\n")
        self.check(["help", "zebra"], USAGE, "",
                   "stepscope help: there is no command 'zebra'. 'stepscope help' lists them all.\n")

    def test_did_you_mean_a_command(self):
        for word, meant in (("inof", "info"), ("inf", "info"), ("dmup", "dump"), ("hepl", "help"),
                            ("information", "info"), ("INFO", None)):
            done = self.check([word], USAGE, "")
            if meant:
                self.assertEqual(done.stderr, f"stepscope: there is no command '{word}'. "
                                              f"Did you mean '{meant}'?\n")
            else:
                self.assertNotIn("mean", done.stderr)

    def test_unknown_option(self):
        self.check(["info", "--zebra", "run"], USAGE, "",
                   "stepscope info: unknown option '--zebra'. "
                   "'stepscope info --help' lists the options.\n")
        self.check(["dump", "-z", "run"], USAGE, "",
                   "stepscope dump: unknown option '-z'. 'stepscope dump --help' lists the options.\n")

    def test_did_you_mean_an_option(self):
        self.check(["dump", "--jsn", "run"], USAGE, "",
                   "stepscope dump: unknown option '--jsn'. Did you mean '--json'? "
                   "'stepscope dump --help' lists the options.\n")

    def test_an_option_before_the_command(self):
        self.check(["--json", "dump"], USAGE, "",
                   "stepscope: unknown option '--json'. "
                   "Options of a command follow its name; 'stepscope help' lists all.\n")
        self.check(["--", "dump"], USAGE, "",
                   "stepscope: the command is missing. "
                   "Options of a command follow its name; 'stepscope help' lists all.\n")

    def test_a_value_that_is_not_wanted(self):
        self.check(["dump", "--json=yes", "run"], USAGE, "",
                   "stepscope dump: option '--json' takes no value. "
                   "'stepscope dump --help' lists the options.\n")

    def test_operands_are_counted(self):
        for command in ("info", "dump"):
            self.check([command], USAGE, "", f"stepscope {command}: RUN is missing. "
                                             f"Usage: stepscope {command} [OPTIONS] RUN\n")
            self.check([command, "a", "b", "c"], USAGE, "",
                       f"stepscope {command}: one argument too many: 'b'. "
                       f"Usage: stepscope {command} [OPTIONS] RUN\n")
        self.check(["help", "info", "dump"], USAGE, "")

    def test_hostile_words_stay_on_one_line(self):
        done = stepscope(b"\x1b[2J\n\xff")
        self.assertEqual(done.returncode, USAGE)
        self.assertEqual(done.stderr, "stepscope: there is no command '\ufffd[2J \ufffd'. "
                                      "'stepscope help' lists them all.\n")


class Output(CommandTest):
    """Output that can not be written: /dev/full, a closed pipe, no stdout at all."""

    def setUp(self):
        super().setUp()
        process = builder.control()
        for seq in range(1, 9):  # 16,000 spans: more than any pipe holds
            process.records(1, seq, builder.spans(builder.START + seq * 50_000, 2000, name=1))
        self.run_name = self.make_run(p=process)
        self.commands = [["info", self.run_name], ["info", "--json", self.run_name],
                         ["dump", self.run_name], ["dump", "--json", self.run_name],
                         ["help"], ["help", "info"], ["--version"], ["info", "--help"]]

    def test_a_full_disk_is_an_error(self):
        for words in self.commands:
            with open("/dev/full", "wb") as full:
                done = self.stepscope(*words, stdout=full)
            self.assertEqual(done.returncode, DATA, words)
            self.assertRegex(done.stderr, r"\Astepscope[ a-z]*: cannot write the output: "
                                          r"No space left on device\.\n\Z")

    def test_a_closed_stdout_is_an_error(self):
        for words in self.commands:
            done = self.stepscope(*words, stdout=None, preexec_fn=lambda: os.close(1))
            self.assertEqual(done.returncode, DATA, words)
            self.assertRegex(done.stderr, r"\Astepscope[ a-z]*: cannot write the output: "
                                          r"Bad file descriptor\.\n\Z")

    def first_line(self, words, restore_signals):
        """Reads one line of the output and closes the pipe; returns the line, stderr, the code."""
        with subprocess.Popen([PROGRAM, *words], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, restore_signals=restore_signals) as child:
            line = child.stdout.readline()
            child.stdout.close()
            return line, child.stderr.read(), child.wait(timeout=60)

    def test_a_reader_that_has_seen_enough_is_no_error(self):
        for words in (["dump", self.run_name], ["dump", "--json", self.run_name]):
            line, stderr, code = self.first_line(words, restore_signals=False)  # SIGPIPE ignored
            self.assertEqual((stderr, code), (b"", FINE))
            self.assertTrue(line.endswith(b"\n"))

    def test_a_reader_that_has_seen_enough_may_end_us_by_signal(self):
        line, stderr, code = self.first_line(["dump", self.run_name], restore_signals=True)
        self.assertEqual((stderr, code), (b"", -13))
        self.assertTrue(line.endswith(b"\n"))

    def test_stderr_may_be_closed(self):
        done = self.stepscope("info", "no such run", preexec_fn=lambda: os.close(2))
        self.assertEqual(done.returncode, DATA)


if __name__ == "__main__":
    unittest.main()
