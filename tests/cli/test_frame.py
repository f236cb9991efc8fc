"""The frame that all commands share: help, options, mistakes, exit codes, output that fails."""

import os
import re
import subprocess
import unittest

from support import DATA, FINE, PROGRAM, USAGE, CommandTest, builder, stepscope

OVERVIEW = """\
Stepscope tells you why a training run is slow.

Usage: stepscope COMMAND [OPTIONS] ...

Commands:
  run        run a command, record it and summarise it
  report     show where the time of a run went
  compare    test whether a change made the training faster
  try        measure what a change would gain
  sweep      find the fastest value of a parameter by trying them in turns
  list       list the recorded runs, newest first
  ranks      compare the ranks or hosts of a job
  join       make one job of the parts of several hosts
  rename     give a run another name
  remove     remove runs from disk
  pack       compress runs on disk, with nothing lost
  export     convert a run for other tools
  info       show what is in a run and whether it is complete
  import     import traces of another profiler as a run
  dump       print all records of a run in time order
  doctor     check whether this machine is fit to measure
  explain    explain a finding: meaning, computation, remedy
  demo       train a small network, as fast or as slow as you like
  help       list the commands, or explain one

'stepscope COMMAND --help' shows details, 'stepscope --version' the version.
Exit codes: 0 success, 1 a check failed, 2 wrong usage, 3 data that cannot be
read or written.
"""

REPORT_HELP = """\
Usage: stepscope report [OPTIONS] [RUN]

Shows the findings with evidence and advice, which stage of a training step
takes most of the time and how certain that is, where step and run time goes,
callbacks, trends and the slowest steps. Live, killed and damaged runs are
reported as far as they can be read. Of a job of several launches all ranks come
first, then the lowest rank that has its records here.
RUN is the name of a run or its beginning, latest, latest~1 (the one before), or
a directory; 'stepscope list' shows the runs. Without it, the latest run.

Options:
      --json          one JSON object; see docs/report.md
      --markdown      for a pull request: the answer and small tables
      --epochs        a table of all epochs
      --hot           the Python lines where each stage spent its time
      --steps         a table of all steps; with --json one object per line
      --rank K        the report of rank K of a job, or of a run with several
      --html FILE     one self-contained HTML page with charts
  -f, --force         overwrite FILE if it exists
      --deadline T    check whether the whole run ends within 30s, 5m or 1h
      --fail-on ID    exit with status 1 on finding ID (ID:10%: at 10 % or more)
  -h, --help          print this text
"""

COMPARE_HELP = """\
Usage: stepscope compare [OPTIONS] A B [C...]

Compares the steady steps of B, C, ... with those of A: first what differs
between the runs and what disturbed them, then the step and each of its stages.
Each of A, B, C is a side: a run by its name or directory, several runs of the
same thing with commas between them (base~2,base~1,base), or a directory of
such runs. Three runs per side make a test. Fewer give an indication, which
never fails the gate.
The answer is faster, slower, same (within 2 %) or inconclusive, with the
number of runs that would decide it. Different batch sizes are compared per
sample.

Options:
      --json               one JSON object; see docs/compare.md
      --markdown           for a pull request: the answer and small tables
      --fail-if-slower P%  exit with status 1 if a side is more than P % slower
  -h, --help               print this text
"""

INFO_HELP = """\
Usage: stepscope info [OPTIONS] [RUN]

Shows what a run holds: how long it took and how it ended, whether anything was
lost, steps and spans by stage, processes, the clock, the recording cost, and
which spans are open in a run that hangs or was killed.
RUN is the name of a run or its beginning, latest, latest~1 (the one before), or
a directory; 'stepscope list' shows the runs. Without it, the latest run.

Options:
      --json          one JSON object, with every process and lane
      --hooks         the name of each installed hook
  -h, --help          print this text
"""

DUMP_HELP = """\
Usage: stepscope dump [OPTIONS] [RUN]

Prints every record of all processes and threads of a run, one per line, in
time order. Times count from the start of the run; a span is printed where it
ended, indented under the spans that were open around it.
A live run is printed up to 0.1 s ago.
RUN is the name of a run or its beginning, latest, latest~1 (the one before), or
a directory; 'stepscope list' shows the runs. Without it, the latest run.

Options:
      --json          one JSON object per line, times in nanoseconds
  -h, --help          print this text
"""

DOCTOR_HELP = """\
Usage: stepscope doctor [OPTIONS]

Checks what measuring depends on: the clock, cores, limits, memory, kernel
counters, GPUs, Pythons, the run directory, the cost of a span, and what
else the machine is doing right now. Takes about a second. Each line is ok,
warn or bad, or - where it cannot be checked. Nothing is left behind.

Options:
      --dir DIR       where runs will be kept, as for 'stepscope run'
      --json          one JSON object, with every Python found
  -h, --help          print this text
"""

EXPLAIN_HELP = """\
Usage: stepscope explain [OPTIONS] [ID]

Explains a finding of 'stepscope report': what it means, how it is computed and
what to do. Without ID, lists all findings.

Options:
  -h, --help          print this text
"""

DEMO_HELP = """\
Usage: stepscope demo [OPTIONS]

Trains a small network on generated digits, within seconds. Put
'stepscope run --' in front to see where its time goes. The result is the
same each time, bit for bit, recorded or not.

A fault slows it down by a known amount: --fault slow-input, or with a size:
--fault slow-input=20ms. The defaults:

  slow-input=5ms                         loading a batch takes longer
  slow-callback=MetricLog:2ms            a callback takes longer each time
  slow-callback-every=MetricLog:50:20ms  the same, each 50th time only
  tiny-batch=8                           only 8 samples per step
  cpu-hog=2                              2 other processes burn CPU
  checkpoint-stall=200ms                 a checkpoint takes longer
  growing-step=10us                      each step takes longer than the last
  leak=256KB                             each step leaks 256 KB
  periodic-pause=100:50ms                every 100th step pauses for 50 ms
  long-warm-up=50:10ms                   the first 50 steps take longer
  heavy-layer=hidden2:3ms                a layer takes longer

Options:
      --fault FAULT   make it slow on purpose; can be repeated
      --steps N       stop after N steps
      --epochs N      train for N epochs (default: 5)
      --batch N       batch size (default: 64)
      --hidden SIZES  hidden layers (default: 256,128)
      --seed N        random seed (default: 1)
      --plain         use plain C, even where OpenBLAS is installed
      --truth FILE    write the demo's own timings as JSON
  -h, --help          print this text
"""

IMPORT_HELP = """\
Usage: stepscope import [OPTIONS] TRACE...

Creates a run from a trace of torch.profiler (.json, .json.gz) or TensorFlow's
or JAX's profiler (.xplane.pb), so that every command can read it: its steps,
their stages, and what the devices did. Several traces are the ranks of one job.
A damaged trace leaves nothing behind.

Options:
  -o, --output RUN    the directory to create (default: stepscope-runs/NAME)
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
exit code are the command's own. A summary goes to stderr at the end;
the run is kept in stepscope-runs/DATE-TIME-NAME, the newest one also as
stepscope-runs/latest. STEPSCOPE_DIR names another place, as --dir does.

Options:
      --dir DIR          keep runs in DIR (default: stepscope-runs)
      --name NAME        name of the run (default: from the command)
      --job ID           job of this launch (default: from the launcher)
  -q, --quiet            print nothing
      --every T          print a status line every 30s, 5m or 1h
      --deadline T       check whether the whole run will end in time
      --tensorboard DIR  write TensorBoard curves to DIR during the run
      --html FILE        write the report as an HTML page at the end
  -f, --force            overwrite FILE if it exists
      --device-events    time GPU work with CUDA events (PyTorch)
      --redact REGEX     hide what matches in arguments, names and marks
      --ops              profile a few steps by operation (PyTorch)
      --no-ops           never profile operations
      --keep-traces      keep the trace files of that profiling
      --no-layers        do not sample the layers of the model
      --mpi              record calls of MPI (default: below mpirun and mpiexec)
      --no-mpi           do not record calls of MPI
      --no-pack          do not compress the run (older versions read it)
      --strict           do not run the command if it cannot be recorded
  -h, --help             print this text
"""

EXPORT_HELP = """\
Usage: stepscope export [OPTIONS] FORMAT RUN OUT

Writes a run in a format that other tools read. RUN is the name of a run or its
beginning, latest, latest~1 (the one before), or a directory. OUT is a file,
which is written atomically, or - for standard output. Live, killed and damaged
runs are exported as far as they can be read.

FORMAT is one of:
  csv          one row per step: times by stage, loop, epoch
  csv-spans    one row per span, in the order in which they ended
  perfetto     a trace for ui.perfetto.dev: threads, steps, counters
  tensorboard  a directory of event files for TensorBoard

Options:
  -f, --force         overwrite existing files
  -h, --help          print this text
"""

if "perfetto" not in stepscope("export", "?", "x", "y").stderr:  # built without nanopb
    EXPORT_HELP = re.sub(r"  (perfetto|tensorboard) .*\n", "", EXPORT_HELP)

TRY_HELP = """\
Usage: stepscope try [OPTIONS] [--] COMMAND ...

Runs the training unchanged and with each change, alternating between them,
and measures what each change saves. Without --what, it tries what a report
would warn about. It stops when it knows. The training is discarded: files
that it writes go to a copy in memory. Input and callbacks change within one
training of PyTorch, Lightning, Hugging Face or Keras, every few steps; each
change of the environment takes a training of its own. For example:
  stepscope try -- python train.py
  stepscope try --what input,callbacks,threads=1 -- python train.py
  stepscope try --fix --what env:TF_ENABLE_ONEDNN_OPTS=0 -- python train.py
With --fix, the command is then run and recorded with the change of the
environment that saves most, if one is significant.

Options:
      --what LIST          input,callbacks,threads=N,malloc,omp-passive,env:N=V
      --fix                then run the command with the best change
      --precision PERCENT  stop at this precision (default: 3%)
      --max-time T         stop after 30s, 5m or 1h (default: 5m)
      --serial             one training at a time, in two rounds
      --unprotected        let the script change files
      --dir DIR            keep runs in DIR (default: stepscope-runs)
      --json               print JSON
  -h, --help               print this text
"""

SWEEP_HELP = """\
Usage: stepscope sweep [OPTIONS] [--] COMMAND ...

Starts one training per value, alternates between them every few moments, and
compares their throughput. The trainings are discarded: files that they write
go to a copy in memory. For example:
  stepscope sweep --batch 16,32,64 -- python train.py --batch-size {}
  stepscope sweep --values workers=0,2,4 -- python train.py -w {workers}
  stepscope sweep --threads 1,2,4 -- python train.py

Options:
      --batch SIZES        batch sizes such as 16,32,64, put in place of {}
      --values VALUES      0,2,4 for {}, or name=0,2,4 for {name}
      --threads COUNTS     values of OMP_NUM_THREADS, such as 1,2,4
      --precision PERCENT  stop at this precision (default: 3%)
      --max-time T         stop after 30s, 5m or 1h (default: 5m)
      --serial             one training at a time, in two rounds
      --unprotected        let the script change files
      --dir DIR            keep runs in DIR (default: stepscope-runs)
      --json               print JSON
  -h, --help               print this text
"""

LIST_HELP = """\
Usage: stepscope list [OPTIONS] [DIR]

Lists the runs in stepscope-runs (or STEPSCOPE_DIR, or DIR): when each began,
its name and command, steps, median step, samples per second, verdict, size
on disk and how it ended. Columns that do not fit the terminal are left out.

Options:
      --json          an array of objects, newest run first
  -h, --help          print this text
"""

RENAME_HELP = """\
Usage: stepscope rename [OPTIONS] RUN NAME

Renames a run and its directory, which keeps its date and time, and prints
where it is now. RUN is the name of a run or its beginning, latest, latest~1
or a directory.

Options:
  -h, --help          print this text
"""

REMOVE_HELP = """\
Usage: stepscope remove [OPTIONS] [RUN...]

Removes the directories of runs, after asking. RUN is the name of a run or its
beginning, latest, latest~1 or a directory; if several runs share a name, the
newest. A run that is still being recorded is never removed.

Options:
      --older T       all runs older than T, such as 30d
      --keep N        all but the newest N runs, however old
  -y, --yes           do not ask
  -h, --help          print this text
"""

PACK_HELP = """\
Usage: stepscope pack [OPTIONS] RUN...

Compresses the files of runs that have ended and prints their size before and
after. 'stepscope run' packs each run when it ends; use this for older ones.
Nothing is lost: a packed run reads the same, and --unpack restores the same
bytes, which older versions of stepscope need. RUN is the name of a run or its
beginning, latest, latest~1 or a directory.

Options:
  -u, --unpack        undo it
  -h, --help          print this text
"""

RANKS_HELP = """\
Usage: stepscope ranks [OPTIONS] [JOB]

Shows for each rank its own work per step (without communication), how long it
waits for the last one, and how long the others wait for it.
JOB is a job, a run with several ranks, or a file of parts (*.ssj).

Options:
      --by WHAT       order by blame (default) or a stage; host: a row per host
      --json          all rows as one JSON object
      --csv           all rows as CSV
  -h, --help          print this text
"""

JOIN_HELP = """\
Usage: stepscope join [OPTIONS] OUT PART...

Where hosts share no disk, each has its own launches of a job. Their parts are
small files: copy part.ssj of each launch, or the job's directory of each host,
to one place. PART is such a file or directory. OUT is the joined job;
'stepscope report OUT' and 'stepscope ranks OUT' read it.

Options:
  -h, --help          print this text
"""

HELP = {"run": RUN_HELP, "report": REPORT_HELP, "compare": COMPARE_HELP, "try": TRY_HELP,
        "sweep": SWEEP_HELP, "list": LIST_HELP, "ranks": RANKS_HELP, "join": JOIN_HELP,
        "rename": RENAME_HELP, "remove": REMOVE_HELP, "pack": PACK_HELP, "export": EXPORT_HELP,
        "info": INFO_HELP, "import": IMPORT_HELP, "dump": DUMP_HELP, "doctor": DOCTOR_HELP,
        "explain": EXPLAIN_HELP, "demo": DEMO_HELP, "help": HELP_HELP}


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
                   "stepscope: unknown command 'zebra'. 'stepscope help' lists all commands.\n")
        self.check(["help", "zebra"], USAGE, "",
                   "stepscope help: unknown command 'zebra'. 'stepscope help' lists all commands.\n")

    def test_did_you_mean_a_command(self):
        for word, meant in (("inof", "info"), ("inf", "info"), ("dmup", "dump"), ("hepl", "help"),
                            ("information", "info"), ("INFO", None)):
            done = self.check([word], USAGE, "")
            if meant:
                self.assertEqual(done.stderr, f"stepscope: unknown command '{word}'. "
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
            self.check([command, "a", "b", "c"], USAGE, "",
                       f"stepscope {command}: unexpected argument 'b'. "
                       f"Usage: stepscope {command} [OPTIONS] [RUN]\n")
        self.check(["rename"], USAGE, "", "stepscope rename: RUN NAME is missing. "
                                          "Usage: stepscope rename [OPTIONS] RUN NAME\n")
        self.check(["help", "info", "dump"], USAGE, "")

    def test_hostile_words_stay_on_one_line(self):
        done = stepscope(b"\x1b[2J\n\xff")
        self.assertEqual(done.returncode, USAGE)
        self.assertEqual(done.stderr, "stepscope: unknown command '\ufffd[2J \ufffd'. "
                                      "'stepscope help' lists all commands.\n")


class Output(CommandTest):
    """Output that cannot be written: /dev/full, a closed pipe, no stdout at all."""

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
