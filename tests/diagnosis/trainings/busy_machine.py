"""What the machine did besides a training, by the kernel's own counters, read without Stepscope."""

import os
import resource
import time


def waited_ns():
    """For how long this thread was ready, but had no core, as the kernel counts it."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1])
    except OSError:
        return 0


class Machine:
    """Made when a training begins; end() says what others did since. Not others' is what this
    process used, and its children that have ended."""

    def __init__(self):
        self.start = self._now()

    @staticmethod
    def _now():
        with open("/proc/stat", encoding="ascii") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
        hertz = os.sysconf("SC_CLK_TCK")
        own = sum(sum(resource.getrusage(who)[:2])
                  for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return {"busy": (sum(ticks) - ticks[3] - ticks[4] - ticks[7]) / hertz,
                "steal": ticks[7] / hertz, "own": own, "wall": time.monotonic()}

    def end(self):
        """Parts of all cores: what others used, and what the hypervisor took."""
        gained = {key: value - self.start[key] for key, value in self._now().items()}
        cores = gained["wall"] * os.cpu_count()
        return {"others": max(0.0, gained["busy"] - gained["own"]) / cores,
                "steal": gained["steal"] / cores}
