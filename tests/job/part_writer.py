"""Writes parts of a job, from docs/format.md (format 12) alone: jobs of which everything is known."""

import random
import struct

FORWARD, BACKWARD, COMM = 3, 4, 7
STAGES = 18
SEGMENTS = 10
STEP = STAGES  # the sketch of whole steps
MOST_STEPS = 512
MASK = (1 << 64) - 1


def crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc32c_table()


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = TABLE[(value ^ byte) & 255] ^ value >> 8
    return value ^ 0xFFFFFFFF


def mix64(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


def chosen(steps):
    """The steps of which each rank keeps single values: the same ones on all."""
    return sorted(sorted(range(steps), key=mix64)[:MOST_STEPS])


class Bytes(bytearray):
    def uint(self, value):
        while value >= 0x80:
            self.append(value & 0x7F | 0x80)
            value >>= 7
        self.append(value)

    def int(self, value):
        self.uint(value * 2 if value >= 0 else -value * 2 - 1)

    def ints(self, values):
        self.uint(len(values))
        for value in values:
            self.int(value)

    def text(self, text):
        data = text.encode()
        self.uint(len(data))
        self += data


def bin_of(ns):
    """Each power of two has 128 bins."""
    power = ns.bit_length() - 1
    return power * 128 + (ns * 128 >> power) - 128


def put_sketch(out, column, values):
    bins = {}
    for value in values:
        bins[bin_of(value)] = bins.get(bin_of(value), 0) + 1
    total = sum(values)
    out.uint(column)
    for number in (len(values), 0, 0):
        out.uint(number)
    out.int(min(values))
    out.int(max(values))
    out.uint(total & MASK)
    out.uint(total >> 64)
    out.uint(len(bins))
    at = 0
    for number in sorted(bins):
        out.uint(number - at)
        out.uint(bins[number])
        at = number


def put_rank(out, rank, world, own, comm, steps, numbers=None):
    """own, comm: ns of each step that is kept. Of its own work backward is 1 ms, forward the rest."""
    count = len(own)
    scale = steps / count
    total = [own[i] + comm[i] for i in range(count)]
    stages = [0] * STAGES
    stages[BACKWARD] = 1_000_000 * steps
    stages[COMM] = round(scale * sum(comm))
    stages[FORWARD] = round(scale * sum(own)) - stages[BACKWARD]
    wall = round(scale * sum(total))
    out.uint(rank)
    out.uint(world)
    out.uint(1000 + rank)
    out.uint(0)
    out.int(1_700_000_000_000_000_000 + rank)
    out.text("train")
    out.ints([steps, 0, steps, 0, wall, 0, steps, wall])
    out.ints([0, 0, 0, wall] + [0] * (SEGMENTS - 4))
    out.uint(1 | 1 << FORWARD | 1 << BACKWARD | 1 << COMM)
    out.ints(stages)
    out.uint(1)
    put_sketch(out, STEP, total)
    windows = [own[i * count // 32:(i + 1) * count // 32] for i in range(32)] if count >= 32 else []
    out.ints([round(sum(window) / len(window)) for window in windows])
    out.uint(0)
    out.uint(count)
    before = (0, 0, 0)
    for i, number in enumerate(numbers or chosen(steps)):
        out.uint(number - before[0])
        out.int(own[i] - before[1])
        out.int(comm[i] - before[2])
        before = (number, own[i], comm[i])


def head(payload, launch, sequence, version=1):
    rest = struct.pack("<QQQ", launch, sequence, len(payload)) + payload
    return b"SSJPART\n" + struct.pack("<II", version, crc32c(rest)) + rest


def launch_bytes(ranks, job="slurm-7.0", host="host-0", boot=1, directory=None, launch=None, sequence=1,
                 ended=True, version=1, clock_error=-1):
    """`ranks`: the bytes of each, by rank."""
    out = Bytes()
    for text in (job, "slurm", host, directory or "rank-0", "/scratch/" + (directory or "rank-0")):
        out.text(text)
    out += bytes([boot % 256, boot // 256] + [0] * 14)
    out.uint(ended)
    out.uint(1 if ended else 0)
    out.uint(0)
    out.ints([10 ** 9, 1_700_000_000 * 10 ** 9, 40 * 10 ** 9, 1_700_000_039 * 10 ** 9, clock_error])
    out.uint(0)
    out.uint(0)
    out.uint(0)
    out.uint(len(ranks))
    for rank in ranks:
        out += rank
    return head(bytes(out), launch if launch is not None else mix64(boot * 4096 + sequence), sequence, version)


class Job:
    """A job in which each step ends when its last rank has come and all have exchanged something.

    `slow`: ns that a rank works longer in each step; `late`: in each step, another rank is late by as
    much. `share` is what the others wait for the slow one, `wait` what a rank waits in all."""

    EXCHANGE = 300_000

    def __init__(self, world, steps=600, slow=None, late=0, seed=1):
        source = random.Random(seed)
        self.world, self.steps = world, steps
        self.numbers = chosen(steps)
        self.own = [[] for _ in range(world)]
        self.blame = [0] * world
        self.longest = []
        for number in self.numbers:
            gauss = source.random
            each = [4_000_000 + int(200_000 * (gauss() + gauss() + gauss())) for _ in range(world)]
            for rank, ns in (slow or {}).items():
                each[rank] += ns
            if late:
                each[number % world] += late
            last = max(range(world), key=each.__getitem__)
            second = max(each[:last] + each[last + 1:])
            self.blame[last] += each[last] - second
            self.longest.append(each[last])
            for rank in range(world):
                self.own[rank].append(each[rank])
        self.time = sum(self.longest) + self.EXCHANGE * len(self.numbers)

    def share(self, rank):
        return self.blame[rank] / self.time

    def rank(self, rank):
        own = self.own[rank]
        comm = [longest + self.EXCHANGE - mine for longest, mine in zip(self.longest, own, strict=True)]
        out = Bytes()
        put_rank(out, rank, self.world, own, comm, self.steps, self.numbers)
        return bytes(out)

    def launches(self, each=8, **options):
        """The bytes of each launch, of `each` ranks on a host of their own."""
        for first in range(0, self.world, each):
            number = first // each
            yield launch_bytes([self.rank(rank) for rank in range(first, min(first + each, self.world))],
                               host="host-%d" % number, boot=number + 1, directory="node-%d" % number, **options)
