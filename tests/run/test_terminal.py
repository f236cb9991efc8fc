"""`stepscope run` as a job of a terminal: keys, stops, hang-up. Each key is one signal."""

import fcntl
import os
import signal
import struct
import termios
import unittest

from running import (PROGRAM, PYTHON, RunTest, environment, is_running, read_until, state_of,
                     wait_until)

# Counts the signals that it gets; says so at each of them; ends at a SIGTERM or SIGHUP.
COUNTER = """
import os, signal, sys
counts = {}
def got(number, frame):
    counts[number] = counts.get(number, 0) + 1
    if number in (signal.SIGTERM, signal.SIGHUP):
        sys.exit(7)
    os.write(1, f"[{signal.Signals(number).name} {counts[number]}]".encode())
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1,
               signal.SIGWINCH, signal.SIGCONT):
    signal.signal(number, got)
os.write(1, b"[ready]")
while True:
    signal.pause()
"""

# As above, but a question on the terminal is answered with all counts.
ASKED = COUNTER.replace("signal.pause()",
                        "os.read(0, 100); os.write(1, f'[counts {counts}]'.encode())")


class JobTest(RunTest):
    def start_counter(self, text=COUNTER, *options):
        terminal = self.terminal(*options, "--", PYTHON, self.write("counter.py", text))
        terminal.expect(b"[ready]")
        return terminal


class Keys(JobTest):
    def test_one_interrupt_key_is_one_sigint(self):
        terminal = self.start_counter(ASKED)
        for count in range(1, 6):
            terminal.press(b"\x03")
            terminal.expect(b"[SIGINT %d]" % count)
        terminal.press(b"?\n")
        self.assertIn(b"[counts {2: 5}", terminal.expect(b"]"))
        terminal.press(b"\x1c")
        terminal.expect(b"[SIGQUIT 1]")

    def test_an_interrupt_that_ends_the_command_ends_us_the_same_way(self):
        terminal = self.terminal("--", "sh", "-c", "printf '[%s]' ready; exec sleep 1000")
        terminal.expect(b"[ready]")
        terminal.press(b"\x03")
        self.assertEqual(terminal.event(), f"killed {int(signal.SIGINT)}")
        self.assertIn(b"stepscope: ", terminal.rest())

    def test_a_quit_key_dumps_no_second_core(self):
        terminal = self.terminal("--", "sh", "-c", "printf '[%s]' ready; exec sleep 1000")
        terminal.expect(b"[ready]")
        terminal.press(b"\x1c")
        self.assertEqual(terminal.event(), f"killed {int(signal.SIGQUIT)}")

    def test_a_new_window_size_is_one_sigwinch(self):
        terminal = self.start_counter(ASKED)
        fcntl.ioctl(terminal.master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        terminal.expect(b"[SIGWINCH 1]")
        terminal.press(b"?\n")
        self.assertIn(b"[counts {28: 1}", terminal.expect(b"]"))

    def test_a_hang_up_ends_the_command(self):
        terminal = self.start_counter()
        command = self.command_of(terminal.shell.pid)
        os.close(terminal.master)
        terminal.master = -1
        wait_until(lambda: "exit_code" in self.facts("outcome"), "the end of the command")
        self.assertEqual(self.facts("outcome")["exit_code"], "7")
        self.assertFalse(is_running(command))

    def test_the_leader_of_a_session_passes_a_hang_up_on(self):
        """The kernel tells the leader alone: xterm -e stepscope run -- ..."""
        master, slave = os.openpty()
        command = self.write("counter.py", COUNTER)
        pid = os.fork()
        if pid == 0:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for fd in (0, 1, 2):
                os.dup2(slave, fd)
            os.closerange(3, 100)
            os.chdir(self.folder)
            os.execve(PROGRAM, [PROGRAM, "run", "--", PYTHON, command], environment())
        os.close(slave)
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        read_until(master, b"[ready]")
        os.close(master)
        wait_until(lambda: "exit_code" in self.facts("outcome"), "the end of the command")
        self.assertEqual(self.facts("outcome")["exit_code"], "7")

    def test_the_terminal_belongs_to_the_command(self):
        terminal = self.terminal("--", PYTHON, "-c",
                                 "import os; print([os.isatty(n) for n in (0, 1, 2)], "
                                 "os.tcgetpgrp(0) == os.getpgrp() == os.getpgid(os.getppid()))")
        terminal.expect(b"[True, True, True] True")
        self.assertEqual(terminal.event(), "exited 0")


class Stops(JobTest):
    def start_reader(self):
        terminal = self.terminal("--", "sh", "-c",
                                 "printf '[%s]' ready; while read a; do echo \"[got $a]\"; done")
        terminal.expect(b"[ready]")
        return terminal

    def test_the_suspend_key_stops_both_and_fg_continues_both(self):
        terminal = self.start_reader()
        command = self.command_of(terminal.shell.pid)
        supervisor = os.getpgid(command)
        for turn in (b"one", b"two", b"three"):
            terminal.press(b"\x1a")
            self.assertEqual(terminal.event(), f"stopped {int(signal.SIGTSTP)}")
            self.assertEqual(state_of(supervisor), "T")
            wait_until(lambda: state_of(command) == "T", "a stopped command")
            terminal.go_on()
            terminal.press(turn + b"\n")
            terminal.expect(b"[got " + turn + b"]")
        terminal.press(b"\x04")
        self.assertEqual(terminal.event(), "exited 0")

    def test_a_command_that_stops_itself_stops_us(self):
        terminal = self.terminal("--", "sh", "-c", "kill -STOP $$; echo '[goes on]'")
        self.assertEqual(terminal.event(), f"stopped {int(signal.SIGSTOP)}")
        terminal.go_on()
        terminal.expect(b"[goes on]")
        self.assertEqual(terminal.event(), "exited 0")

    def test_a_command_that_ignores_the_suspend_key_is_not_stopped(self):
        terminal = self.terminal("--", "sh", "-c", "trap '' TSTP; printf '[%s]' ready; "
                                 "while read a; do echo \"[got $a]\"; done")
        terminal.expect(b"[ready]")
        terminal.press(b"\x1a")
        terminal.press(b"x\n")
        terminal.expect(b"[got x]")
        terminal.press(b"\x04")
        self.assertEqual(terminal.event(), "exited 0")

    def test_sigcont_for_us_alone_reaches_a_stopped_command(self):
        """It does not read: from the background, where it is until the shell has it again, that
        would stop it once more."""
        terminal = self.start_counter()
        command = self.command_of(terminal.shell.pid)
        terminal.press(b"\x1a")
        self.assertEqual(terminal.event(), f"stopped {int(signal.SIGTSTP)}")
        os.kill(os.getpgid(command), signal.SIGCONT)
        terminal.expect(b"[SIGCONT 1]")

    def test_without_a_terminal_a_stopped_command_does_not_stop_us(self):
        run = self.start("--", "sh", "-c", "echo ready; read a; echo $a", start_new_session=True)
        run.expect(b"ready\n")
        command = self.command_of(run.pid)
        os.kill(command, signal.SIGSTOP)
        wait_until(lambda: state_of(command) == "T", "a stopped command")
        os.kill(command, signal.SIGCONT)
        run.tell("goes on")
        run.expect(b"goes on\n")
        self.assertEqual(run.finish()[0], 0)


if __name__ == "__main__":
    unittest.main()
