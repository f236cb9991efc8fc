"""`run --every` on a terminal where a progress bar is drawn: no line has both."""

import fcntl
import os
import re
import struct
import subprocess
import termios
import unittest

from framework import FrameworkTest

COLUMNS, ROWS = 200, 50
CONTROL = re.compile(r"\x1b\[([\d;?]*)([A-Za-z])|\r|\n|\x08|[^\x1b]", re.DOTALL)
BAR = re.compile(r"━|it/s|\d+%\||\d/step|Epoch")


class Screen:
    """What a terminal shows in the end: lines that were overwritten are gone."""

    def __init__(self, text):
        self.lines, self.row, self.column = [""], 0, 0
        for found in CONTROL.finditer(text):
            self.take(found.group(), found.group(1), found.group(2))

    def take(self, text, number, verb):
        line = self.lines[self.row]
        if verb == "K":
            whole, before = number == "2", number == "1"
            self.lines[self.row] = "" if whole else (
                " " * self.column + line[self.column:] if before else line[:self.column])
        elif verb == "A":
            self.row = max(0, self.row - int(number or 1))
        elif verb:
            pass  # colours, the cursor
        elif text == "\r":
            self.column = 0
        elif text == "\x08":
            self.column = max(0, self.column - 1)
        elif text == "\n":
            self.row += 1
            self.lines.extend([""] * (self.row + 1 - len(self.lines)))
        else:
            self.lines[self.row] = (line.ljust(self.column)[:self.column] + text
                                    + line[self.column + 1:])
            self.column += 1


class Bars(FrameworkTest):
    def on_terminal(self, command):
        master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        env = {key: value for key, value in os.environ.items()
               if not key.startswith(("STEPSCOPE_", "PYTHON"))}
        env.update(TERM="xterm", OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
        process = subprocess.Popen(command, cwd=self.folder, env=env, stdin=slave, stdout=slave,
                                   stderr=slave, start_new_session=True)
        os.close(slave)
        seen = b""
        try:
            while part := os.read(master, 65536):
                seen += part
        except OSError:  # the last process that had it has ended
            pass
        os.close(master)
        self.assertEqual(process.wait(), 0, seen.decode(errors="replace"))
        return seen.decode(errors="replace")

    def check(self, kind):
        command = self.recording(self.command("bars.py", kind))
        command.remove("--quiet")
        command[command.index("--dir"):command.index("--dir")] = ["--every", "150ms"]
        screen = Screen(self.on_terminal(command))
        status = [line for line in screen.lines if re.match(r"stepscope [\d.]+ m?s: step \d+", line)]
        self.assertGreater(len(status), 1, screen.lines)
        self.assertGreater(len([line for line in screen.lines if BAR.search(line)]), 0, screen.lines)
        for line in screen.lines:
            if "stepscope" in line and "train.py" not in line:
                self.assertNotRegex(line, BAR)
                self.assertTrue(line.startswith(("stepscope", "more ", "run ", " ")), repr(line))

    def test_tqdm(self):
        self.check("tqdm")

    def test_keras(self):
        self.check("keras")

    def test_lightning(self):
        self.check("lightning")


if __name__ == "__main__":
    unittest.main()
