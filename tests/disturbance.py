"""What a run says of itself about a machine that had other things to do, and what the kernel says."""

import os
import resource
import time

ITEMS = ("preempted", "others", "steal")


def is_disturbed(report):
    return any(item["level"] == "warn" for item in report["validity"]["items"]
               if item["id"] in ITEMS)


def check_undisturbed(measure, check, tries=3):
    """Calls check(*measure(scale)); the last value that `measure` returns is the report of its run. A
    measurement that fails is taken again with twice the steps if the run itself says that it was disturbed;
    the last one has to pass."""
    for attempt in range(tries):
        measured = measure(2 ** attempt)
        try:
            return check(*measured)
        except AssertionError:
            if attempt == tries - 1 or not is_disturbed(measured[-1]):
                raise


class OthersWork:
    """What other programs, and other guests of the host, had of the cores while a `with` block ran."""

    BUSY = 0.1  # from that share on they change how long computing takes, as by what they do to caches

    def __enter__(self):
        self.start = self.now()
        return self

    def __exit__(self, *_):
        wall, all_, own = (b - a for a, b in zip(self.start, self.now()))
        self.is_busy = all_ - own > self.BUSY * wall * os.cpu_count()

    @staticmethod
    def now():
        """Seconds: of the clock, of all cores, of our children that have ended."""
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
        used = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.monotonic(), used, children.ru_utime + children.ru_stime
