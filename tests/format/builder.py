"""Packs process files, from docs/format.md alone and without a look at decoder.py.

Nothing here checks anything: most of what the tests need, no recorder would write.
"""

import os
import struct

SEGMENT_BYTES = 65536
BLOCK_BYTES = 8192
UNIT = 32

# Every made process starts here, unless it says otherwise.
START = 1_000_000
START_NS = 5_000_000_000
TICKS_PER_S = 3_000_000_000

TRAIN, EVAL, FAILED, APPENDED = 1, 2, 4, 128

# Kinds of format 5 that a test names.
SPAN, PERTURBED, LOST = 1, 14, 20


def record(kind, body=b"", name=0, flags=0, depth=0, nest=0, units=None):
    """A record of any kind: the head, then `body`, padded to whole units."""
    if units is None:
        units = -(-(8 + len(body)) // UNIT)
    head = struct.pack("<BBHHBB", kind, units, name, flags, depth, nest)
    data = head + body
    return data + bytes(-len(data) % UNIT)


def span(start, end, argument=0, kind=SPAN, **head):
    return record(kind, struct.pack("<QQq", start, end, argument), **head)


def at(kind, ticks, *rest, form="", **head):
    """A record of a kind whose layout is its ticks and then `form`."""
    return record(kind, struct.pack("<Q" + form, ticks, *rest).ljust(24, b"\0"), **head)


def step(ticks, samples=0, **head):
    return at(2, ticks, samples, form="Q", **head)


def counter(ticks, value, **head):
    return at(7, ticks, value, form="d", **head)


def mark(ticks, text, length=None, **head):
    length = len(text) if length is None else length
    return record(8, struct.pack("<QIHH", ticks, 0, length, 0) + text, **head)


def plan(ticks, steps=0, epochs=0, steps_per_epoch=0, batch=0, **head):
    return at(9, ticks, steps, epochs, steps_per_epoch, batch, form="4Q", **head)


def calibration(ticks, raw_ns, realtime_ns=0, bracket=0, **head):
    return at(10, ticks, raw_ns, realtime_ns, bracket, form="qqQ", **head)


def sample(ticks, tid, frames, count=None, **head):
    count = len(frames) if count is None else count
    return record(11, struct.pack(f"<QIHH{len(frames)}I", ticks, tid, count, 0, *frames),
                  **head)


def two_texts(kind, prefix, first, second, lengths=None, **head):
    """A record whose 12 bytes of prefix are followed by two lengths and two texts."""
    lengths = lengths or (len(first), len(second))
    return record(kind, prefix + struct.pack("<HH", *lengths) + first + second, **head)


def frame(number, line, function, file, traits=0, body=0, **head):
    prefix = struct.pack("<BBHII", traits, 0, body, number, line)
    return two_texts(12, prefix, function, file, **head)


def hook(ticks, target, reason=b"", **head):
    return two_texts(13, struct.pack("<QI", ticks, 0), target, reason, **head)


def system(ticks, value, subject=0, **head):
    return at(15, ticks, value, subject, form="dQ", **head)


def name(number, text, obj=b"", stage=0, role=0, scope=0, **head):
    prefix = struct.pack("<BBBBII", stage, role, scope, 0, 0, 0)
    return two_texts(16, prefix, text, obj, name=number, **head)


def info(key, value, **head):
    return two_texts(17, bytes(12), key, value, **head)


def thread_begin(ticks, tid, text=b"", **head):
    return two_texts(18, struct.pack("<QI", ticks, tid), text, b"", **head)


def thread_end(ticks, **head):
    return at(19, ticks, **head)


def open_span(start, name=0, flags=0, depth=0, nest=0, kind=SPAN):
    """An entry of the stack in a lane block."""
    return struct.pack("<QBBHHBB", start, kind, 1, name, flags, depth, nest)


class ProcessFile:
    """A process file in the making. Header fields are keywords, named as on the page."""

    FIELDS = {
        "magic": (0, "8s", b"stepscop"), "version": (8, "H", 1),
        "min_reader": (10, "H", 1),
        "segment_bytes": (12, "I", SEGMENT_BYTES), "block_bytes": (16, "I", BLOCK_BYTES),
        "inline_offset": (20, "I", 2048), "clock": (32, "B", 0),
        "pid": (40, "I", 4_000_000_000),
        "process_start": (48, "Q", 77), "boot_id": (56, "16s", b"b" * 16),
        "file_id": (72, "16s", b"f" * 16), "rank": (88, "i", -1),
        "start_ticks": (104, "Q", START), "start_raw_ns": (112, "q", START_NS),
        "start_realtime_ns": (120, "q", 0), "ticks_per_s": (128, "Q", TICKS_PER_S),
        "state": (256, "I", 3), "end_ticks": (264, "Q", START + 1_000_000),
        "paused": (368, "Q", 0), "beats": (280, "Q", 0), "beat0_ticks": (288, "Q", 0), "beat0_ns": (296, "q", 0),
        "beat1_ticks": (304, "Q", 0), "beat1_ns": (312, "q", 0),
    }

    def __init__(self, **header):
        self.data = bytearray(SEGMENT_BYTES)
        self.directories = {0: 0}
        self.lease = 0
        for field, (offset, form, default) in self.FIELDS.items():
            self.poke(offset, form, header.pop(field, default))
        assert not header, f"no such header fields: {header}"

    def poke(self, offset, form, *values):
        struct.pack_into("<" + form, self.data, offset, *values)

    def segment(self, kind, lane, seq, lease, body=b"", magic=0x47455353):
        """Adds a segment with this header; returns its offset."""
        offset = len(self.data)
        self.data += bytes(SEGMENT_BYTES)
        self.poke(offset, "IIIIQQ", magic, kind, lane, seq, lease, START)
        self.data[offset + 64:offset + 64 + len(body)] = body
        assert len(self.data) == offset + SEGMENT_BYTES, "too many records for a segment"
        return offset

    def records(self, lane, seq, *records, lease=None):
        """Adds a record segment; leases rise as segments are added."""
        self.lease += 1
        lease = self.lease if lease is None else lease
        return self.segment(2, lane, seq, lease, b"".join(records))

    def directory(self, first):
        self.directories[first] = self.segment(1, first, 0, 1)
        return self.directories[first]

    def block_offset(self, lane):
        first = lane - lane % 7
        return self.directories[first] + (lane % 7 + 1) * BLOCK_BYTES

    def block(self, lane, *records, spans=(), depth=None, number=None, magic=0x4E4C5353):
        """Fills the block of a lane; returns its offset."""
        offset = self.block_offset(lane)
        self.poke(offset, "II", magic, lane if number is None else number)
        self.poke(offset + 64, "I", len(spans) if depth is None else depth)
        for place, entry in enumerate(spans, start=1):
            self.data[offset + 512 + 16 * place:offset + 528 + 16 * place] = entry
        body = b"".join(records)
        assert len(body) <= BLOCK_BYTES - 2048, "too many records for a block"
        self.data[offset + 2048:offset + 2048 + len(body)] = body
        return offset

    def bytes(self, size=None):
        return bytes(self.data[:size])


RUNS = {}


def run(build):
    """Puts a function into the catalogue: a ProcessFile, bytes, or files by name."""
    RUNS[build.__name__] = build
    return build


def this_process():
    """Header fields by which a reader finds the process that runs this."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot_id = bytes.fromhex(file.read().strip().replace("-", ""))
    with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
        start = int(file.read().rpartition(")")[2].split()[19])
    return {"pid": os.getpid(), "process_start": start, "boot_id": boot_id, "state": 1}


def control(*records, clock=0, **header):
    """A process whose control lane holds two names and then these records."""
    process = ProcessFile(clock=clock, **header)
    process.block(0, name(1, b"forward", b"Net", stage=3, role=3),
                  name(2, b"loader", stage=1),
                  *records)
    return process


def spans(first, count, length=5, pitch=10, **head):
    """Spans one after another."""
    return b"".join(span(first + pitch * i, first + pitch * i + length, i, **head)
                    for i in range(count))
