#!/usr/bin/python3
"""A second decoder of run directories, written from docs/format.md alone.

It exists to keep that page honest: test_agreement.py compares it with the C reader, and
whichever of the two does not do what the page says is wrong. So it follows the page section
by section, prefers plain statements to speed, and never raises whatever the bytes are.

    decoder.py RUN            every record of the run, merged, as JSON Lines
    decoder.py --losses RUN   what could not be read, as JSON Lines
"""

import argparse
import bisect
import json
import math
import os
import stat
import struct
import sys
import time
from dataclasses import dataclass, field
from typing import NamedTuple

import unpacker

# 1. A run


def run_files(run):
    """Paths of the process files of a run, in the order of their names."""
    try:
        names = os.listdir(os.fsencode(run))
    except OSError:
        return []
    return [os.path.join(os.fsencode(run), name) for name in sorted(names)
            if name.endswith(b".ssp")]


# 2. A process file

VERSION = 1
SEGMENT_BYTES = 65536
BLOCK_BYTES = 8192
INLINE_OFFSET = 2048
HEADER_BYTES = 1024
SEGMENT_HEADER_BYTES = 64
UNIT = 32
BLOCKS = 7
MAX_LANES = 7 * 65536
MAX_DEPTH = 63
WHOLE_MACHINE = 2**64 - 1

FILE_MAGIC = b"stepscop"
SEGMENT_MAGIC = 0x47455353
BLOCK_MAGIC = 0x4E4C5353

# Each layout is a list of (field, offset, struct format).
FILE_HEADER = [
    ("magic", 0, "8s"),
    ("version", 8, "H"),
    ("min_reader", 10, "H"),
    ("segment_bytes", 12, "I"),
    ("block_bytes", 16, "I"),
    ("inline_offset", 20, "I"),
    ("clock", 32, "B"),
    ("pid", 40, "I"),
    ("process_start", 48, "Q"),
    ("boot_id", 56, "16s"),
    ("start_ticks", 104, "Q"),
    ("start_raw_ns", 112, "q"),
    ("ticks_per_s", 128, "Q"),
    ("state", 256, "I"),
    ("end_ticks", 264, "Q"),
    ("beats", 280, "Q"),
    ("beat0_ticks", 288, "Q"),
    ("beat0_ns", 296, "q"),
    ("beat1_ticks", 304, "Q"),
    ("beat1_ns", 312, "q"),
    ("paused", 368, "Q"),
]

SEGMENT_HEADER = [
    ("magic", 0, "I"),
    ("kind", 4, "I"),
    ("lane", 8, "I"),
    ("seq", 12, "I"),
    ("lease", 16, "Q"),
]
SEGMENT_FREE, SEGMENT_DIRECTORY, SEGMENT_RECORDS = 0, 1, 2

LANE_BLOCK = [
    ("magic", 0, "I"),
    ("lane", 4, "I"),
    ("depth", 64, "I"),
]
OPEN_OFFSET = 512
OPEN_BYTES = 16


def unpack(layout, data, offset):
    """The fields of one structure at an offset that is known to be inside the data."""
    return {name: struct.unpack_from("<" + form, data, offset + at)[0]
            for name, at, form in layout}


class FileHeader:
    """The fields of format 2.1 that a reader needs."""

    def __init__(self, data):
        self.__dict__.update(unpack(FILE_HEADER, data, 0))

    def whole_beat(self):
        """(ticks, raw ns) of the helper's last round; None before the first."""
        if self.beats == 0:
            return None
        if self.beats & 1:
            return self.beat1_ticks, self.beat1_ns
        return self.beat0_ticks, self.beat0_ns

    def horizon(self):
        """Format 8.5: no record can be later than this. None: there is no such limit."""
        if self.beats == 0 or self.paused:
            return None
        latest = max(self.end_ticks, self.beat0_ticks, self.beat1_ticks, self.start_ticks)
        return latest + 3600 * self.ticks_per_s


# 3. Records


class Head(NamedTuple):
    kind: int
    units: int
    name: int
    flags: int
    depth: int
    nest: int


HEAD = struct.Struct("<BBHHBB")


@dataclass
class Record:
    """A record that was read, or the end that format 8.8 gives to an open span."""

    kind: "Kind"
    head: Head
    fields: dict
    time: int = 0  # ticks, as format 8.6 has them
    tid: int = 0
    owner: int = 0

    def first_ticks(self):
        """The earliest of its ticks, None if it has none."""
        return self.fields.get("start_ticks", self.fields.get("ticks"))

    def last_ticks(self):
        return self.fields.get("end_ticks", self.fields.get("ticks"))


# 4. Words

STAGES = ["other", "data", "transfer", "forward", "backward", "optimizer", "compute",
          "comm", "sync", "callback", "eval", "infer", "checkpoint", "compile", "setup",
          "gc", "produce", "user"]
ROLES = ["none", "update", "train_call", "jit_call", "eval_call", "epoch", "user_step",
         "loop", "collective"]
SCOPES = ["none", "batch_begin", "batch_end", "epoch_begin", "epoch_end", "train_begin",
          "train_end"]
FLAGS = ["train", "eval", "failed", "estimate", "perturbed", "overlay", "producer",
         "appended", "unfinished", "sampled"]
UNFINISHED = 1 << 8


def word(words, number):
    """The word of a number; a number that is not known reads as the first one."""
    return words[number] if number < len(words) else words[0]


def flag_words(flags):
    return [flag for bit, flag in enumerate(FLAGS) if flags >> bit & 1]


# 5. Record kinds


@dataclass
class Kind:
    """A line of format 5: fewest units, fields, and where the lengths of texts are."""

    word: str
    units: int
    layout: list
    texts: list = field(default_factory=list)  # (field, offset of its u16 length)


TICKS = ("ticks", 8, "Q")
FROM_TO = [("start_ticks", 8, "Q"), ("end_ticks", 16, "Q")]
TEXTS_OFFSET = 24

KINDS = {
    1: Kind("span", 1, FROM_TO + [("arg", 24, "q")]),
    2: Kind("step", 1, [TICKS, ("samples", 16, "Q")]),
    3: Kind("loop_begin", 1, [TICKS]),
    4: Kind("loop_end", 1, [TICKS]),
    5: Kind("epoch_begin", 1, [TICKS, ("epoch", 16, "Q")]),
    6: Kind("epoch_end", 1, [TICKS]),
    7: Kind("counter", 1, [TICKS, ("value", 16, "d")]),
    8: Kind("mark", 1, [TICKS], [("text", 20)]),
    9: Kind("plan", 2, [TICKS, ("steps", 16, "Q"), ("epochs", 24, "Q"),
                        ("steps_per_epoch", 32, "Q"), ("batch", 40, "Q")]),
    10: Kind("calibration", 2, [TICKS, ("raw_ns", 16, "q"), ("realtime_ns", 24, "q"),
                                ("bracket_ticks", 32, "Q")]),
    11: Kind("sample", 1, [TICKS, ("tid", 16, "I"), ("frames", 20, "H")]),
    12: Kind("frame", 1, [("id", 12, "I"), ("line", 16, "I"), ("traits", 8, "B"),
                          ("body", 10, "H")],
             [("function", 20), ("file", 22)]),
    13: Kind("hook", 1, [TICKS], [("target", 20), ("reason", 22)]),
    14: Kind("perturbed", 1, FROM_TO + [("reason", 24, "q")]),
    15: Kind("system", 1, [TICKS, ("value", 16, "d"), ("subject", 24, "Q")]),
    16: Kind("name", 1, [("stage", 8, "B"), ("role", 9, "B"), ("scope", 10, "B")],
             [("text", 20), ("object", 22)]),
    17: Kind("info", 1, [], [("key", 20), ("value", 22)]),
    18: Kind("thread_begin", 1, [TICKS, ("tid", 16, "I")], [("thread", 20)]),
    19: Kind("thread_end", 1, [TICKS]),
    20: Kind("lost", 1, FROM_TO + [("count", 24, "q")]),
    21: Kind("clock", 1, [TICKS, ("waited_ns", 16, "Q"), ("others_ns", 24, "Q")]),
    22: Kind("arm", 1, [TICKS, ("round", 16, "Q")]),
}
SPAN = KINDS[1]


class Name(NamedTuple):
    text: str
    object: str
    stage: str


class Names:
    """The meaning of name ids: the NAME records of the control lane."""

    def __init__(self, records):
        self.names = {}
        for record in records:
            if record.kind.word == "name":
                fields = record.fields
                name = Name(fields["text"], fields["object"],
                            word(STAGES, fields["stage"]))
                self.names.setdefault(record.head.name, name)
        self.names[0] = Name("(unnamed)", "", "other")

    def find(self, number):
        return self.names.get(number, Name(f"(name {number})", "", "other"))


# 6. Time

FRACTION = 40


class Clock:
    """Turns the ticks of one file into nanoseconds of CLOCK_MONOTONIC_RAW."""

    def __init__(self, header, control_records):
        self.identity = header.clock == 0
        points = [(header.start_ticks, header.start_raw_ns)]
        candidates = [(r.fields["ticks"], r.fields["raw_ns"]) for r in control_records
                      if r.kind.word == "calibration"]
        if header.beats > 0:
            candidates.append(header.whole_beat())
        for ticks, raw in candidates:
            if ticks > points[-1][0] and raw > points[-1][1]:
                points.append((ticks, raw))
        self.points = points
        self.ticks = [ticks for ticks, _ in points]
        self.rates = [((raw2 - raw1) << FRACTION) // (ticks2 - ticks1)
                      for (ticks1, raw1), (ticks2, raw2) in zip(points, points[1:])]
        if not self.rates:
            per_s = header.ticks_per_s
            self.rates = [(10**9 << FRACTION) // per_s if per_s else 1 << FRACTION]

    def ns(self, ticks):
        """Nanoseconds; what no i64 can hold becomes the nearest that it can."""
        return min(max(self.exact_ns(ticks), -2**63), 2**63 - 1)

    def exact_ns(self, ticks):
        if self.identity:
            return ticks
        place = max(bisect.bisect_right(self.ticks, ticks) - 1, 0)
        at, raw = self.points[place]
        rate = self.rates[min(place, len(self.rates) - 1)]
        if ticks < at:
            return raw - ((at - ticks) * rate >> FRACTION)
        return raw + ((ticks - at) * rate >> FRACTION)


# 8. How to read


class Loss(NamedTuple):
    """Bytes that were not read. Kinds: file, truncated, header, order, records."""

    kind: str
    offset: int
    bytes: int


class Segment(NamedTuple):
    offset: int
    lease: int


@dataclass
class Lane:
    number: int
    block: int = None  # offset of its block; None: it has only segments
    segments: dict = field(default_factory=dict)  # Segment by seq
    records: list = field(default_factory=list)


class Process:
    """One file, read by the rules of format 8.

    `given_up` are the offsets of segments that changed hands while they were read; `dead`
    forces the answer of format 8.9.
    """

    def __init__(self, data, given_up=(), dead=None):
        self.data = data
        self.given_up = given_up
        self.losses = []
        self.lanes = {}
        self.header = None
        self.damaged = self.unreadable = set()
        if not self.unpack() or not self.read_header():
            return
        self.find_segments()
        for number in sorted(self.lanes):
            self.read_lane(self.lanes[number])
        control = self.lanes[0].records if 0 in self.lanes else []
        self.names = Names(control)
        self.clock = Clock(self.header, control)
        self.dead = self.is_packed or (has_ended(self.header) if dead is None else dead)
        for lane in self.lanes.values():
            self.end_open_spans(lane)
            set_owners(lane)

    def lose(self, kind, offset, end):
        """Bytes from offset to end are lost, as far as the file has them."""
        end = min(end, len(self.data))
        self.losses.append(Loss(kind, offset, max(end - offset, 0)))

    # Format 11.4

    def unpack(self):
        self.is_packed = unpacker.is_packed(self.data)
        self.stored_bytes = len(self.data)
        if not self.is_packed:
            return True
        if unpacker.image_bytes(self.data) is None:
            self.lose("truncated", 0, len(self.data))
            return False
        image = unpacker.Image(self.data)
        self.data, self.damaged, self.unreadable = image.data, image.damaged, image.unreadable
        return True

    def lose_file(self, kind):
        self.losses.append(Loss(kind, 0, self.stored_bytes))

    # Format 8.1

    def read_header(self):
        size = len(self.data)
        if size < HEADER_BYTES:
            self.lose_file("truncated")
            return False
        header = FileHeader(self.data)
        if (header.magic != FILE_MAGIC or header.segment_bytes != SEGMENT_BYTES
                or header.block_bytes != BLOCK_BYTES
                or header.inline_offset != INLINE_OFFSET):
            self.lose_file("header")
            return False
        if header.min_reader > VERSION:
            self.lose_file("file")
            return False
        self.header = header
        self.horizon = header.horizon()
        return True

    # Format 8.2 to 8.4

    def find_segments(self):
        """Finds the lanes, and where the records of each of them are."""
        directories = set()
        if 0 in self.damaged:
            self.lose("header", 0, SEGMENT_BYTES)
        else:
            self.add_directory(0, 0)
            directories.add(0)
        for offset in range(SEGMENT_BYTES, len(self.data), SEGMENT_BYTES):
            end = offset + SEGMENT_BYTES
            if len(self.data) - offset < SEGMENT_HEADER_BYTES:
                self.lose("truncated", offset, end)
                continue
            if offset in self.unreadable:
                self.lose("header", offset, end)
                continue
            if not any(self.data[offset:offset + SEGMENT_HEADER_BYTES]):
                continue
            header = unpack(SEGMENT_HEADER, self.data, offset)
            kind = header["kind"]
            if header["magic"] != SEGMENT_MAGIC:
                self.lose("header", offset, end)
            elif kind == SEGMENT_FREE:
                continue
            elif kind == SEGMENT_DIRECTORY:
                first = header["lane"]
                if (first % BLOCKS != 0 or first >= MAX_LANES or first in directories
                        or offset in self.damaged):
                    self.lose("header", offset, end)
                    continue
                directories.add(first)
                self.add_directory(offset, first)
            elif kind == SEGMENT_RECORDS:
                if header["lease"] != 0 and offset not in self.given_up:
                    self.add_segment(offset, header)
            else:
                self.lose("header", offset, end)

    def add_directory(self, offset, first):
        for number in range(first, first + BLOCKS):
            block = offset + (number - first + 1) * BLOCK_BYTES
            end = block + BLOCK_BYTES
            if block >= len(self.data):
                return
            if end > len(self.data):
                self.lose("truncated", block, end)
                return
            fields = unpack(LANE_BLOCK, self.data, block)
            if fields["magic"] == 0:
                continue
            if fields["magic"] != BLOCK_MAGIC or fields["lane"] != number:
                self.lose("header", block, end)
                continue
            self.lane(number).block = block

    def add_segment(self, offset, header):
        if header["lane"] >= MAX_LANES or header["seq"] < 1:
            self.lose("header", offset, offset + SEGMENT_BYTES)
            return
        segments = self.lane(header["lane"]).segments
        new = Segment(offset, header["lease"])
        old = segments.get(header["seq"])
        if old is not None:
            # Offsets rise as we go, so with the same lease the new one is further back.
            if new.lease < old.lease:
                old, new = new, old
            self.lose("order", old.offset, old.offset + SEGMENT_BYTES)
        segments[header["seq"]] = new

    def lane(self, number):
        return self.lanes.setdefault(number, Lane(number))

    # Format 8.5 and 8.6

    def read_lane(self, lane):
        if lane.block is not None:
            self.read_records(lane, lane.block + INLINE_OFFSET, lane.block + BLOCK_BYTES)
        for _, segment in sorted(lane.segments.items()):
            if segment.offset in self.damaged:
                self.lose("records", segment.offset + SEGMENT_HEADER_BYTES,
                          segment.offset + SEGMENT_BYTES)
                continue
            self.read_records(lane, segment.offset + SEGMENT_HEADER_BYTES,
                              segment.offset + SEGMENT_BYTES)
        now = self.header.start_ticks
        for record in lane.records:
            ticks = record.last_ticks()
            if ticks is not None:
                now = max(now, ticks)
            record.time = now

    def read_records(self, lane, offset, end):
        """Appends the records between two offsets to the lane."""
        while offset < end:
            if len(self.data) - offset < UNIT:
                self.lose("truncated", offset, end)
                return
            if not any(self.data[offset:offset + HEAD.size]):
                return
            head = Head(*HEAD.unpack_from(self.data, offset))
            if self.is_bad(head, offset, end):
                self.lose("records", offset, end)
                return
            size = head.units * UNIT
            if offset + size > len(self.data):
                self.lose("truncated", offset, end)
                return
            if head.kind in KINDS:
                lane.records.append(self.read_record(head, offset))
            offset += size

    def is_bad(self, head, offset, end):
        if head.kind == 0 or head.units == 0 or offset + head.units * UNIT > end:
            return True
        kind = KINDS.get(head.kind)
        if kind is None:
            return False
        if head.units < kind.units:
            return True
        # What follows is in the first unit of every kind, and that one is in the file.
        if self.payload_bytes(kind, offset) > head.units * UNIT - TEXTS_OFFSET:
            return True
        ticks = self.ticks_of(kind, offset)
        if not ticks:
            return False
        if ticks[-1] < ticks[0] or ticks[0] < self.header.start_ticks:
            return True
        return self.horizon is not None and ticks[-1] > self.horizon

    def payload_bytes(self, kind, offset):
        """Bytes that the texts or the frames of a record claim."""
        lengths = [self.length(offset + at) for _, at in kind.texts]
        if kind.word == "sample":
            lengths.append(4 * self.length(offset + 20))
        return sum(lengths)

    def length(self, offset):
        return struct.unpack_from("<H", self.data, offset)[0]

    def ticks_of(self, kind, offset):
        """The points of time in a record: none, its ticks, or start and end."""
        return [struct.unpack_from("<Q", self.data, offset + at)[0]
                for name, at, _ in kind.layout
                if name in ("ticks", "start_ticks", "end_ticks")]

    def read_record(self, head, offset):
        kind = KINDS[head.kind]
        fields = unpack(kind.layout, self.data, offset)
        at = offset + TEXTS_OFFSET
        for name, length_at in kind.texts:
            length = self.length(offset + length_at)
            fields[name] = self.data[at:at + length].decode("utf-8", "replace")
            at += length
        if kind.word == "sample":
            form = f"<{fields['frames']}I"
            fields["frames"] = list(struct.unpack_from(form, self.data, at))
        return Record(kind, head, fields)

    # Format 8.8

    def open_spans(self, lane):
        """The entries of the stack that count, as (start, head), outermost first."""
        depth = unpack(LANE_BLOCK, self.data, lane.block)["depth"]
        stack = lane.block + OPEN_OFFSET
        if depth > MAX_DEPTH:
            self.lose("header", stack, stack + (MAX_DEPTH + 1) * OPEN_BYTES)
            return []
        entries = []
        for place in range(1, depth + 1):
            entry = stack + place * OPEN_BYTES
            start = struct.unpack_from("<Q", self.data, entry)[0]
            entries.append((start, Head(*HEAD.unpack_from(self.data, entry + 8))))
        spans = [(start, head) for start, head in entries
                 if head.kind == 1 and start >= self.header.start_ticks]
        last = next((r for r in reversed(lane.records) if r.kind is SPAN), None)
        if spans and last is not None:
            start, head = spans[-1]
            if start == last.fields["start_ticks"] and head.depth == last.head.depth:
                spans.pop()
        return spans

    def end_open_spans(self, lane):
        if lane.block is None:
            return
        spans = self.open_spans(lane)
        if not self.dead:
            return
        last = lane.records[-1].time if lane.records else self.header.start_ticks
        starts = [start for start, head in spans]
        end = max(time_of_death(self.header), last, *starts) if starts else last
        for start, head in reversed(spans):
            last = max(last, end)
            head = head._replace(flags=head.flags | UNFINISHED)
            fields = {"start_ticks": start, "end_ticks": end, "arg": 0}
            lane.records.append(Record(SPAN, head, fields, time=last))


def time_of_death(header):
    if header.state in (2, 3):
        return header.end_ticks
    beat = header.whole_beat()
    return beat[0] if beat else header.start_ticks


def set_owners(lane):
    """Gives every record the thread that owned the lane when it was recorded."""
    tid = owner = 0
    for record in lane.records:
        if record.kind.word == "thread_begin":
            tid = record.fields["tid"]
            owner += 1
        record.tid, record.owner = tid, owner


# Format 8.9


def has_ended(header):
    """Whether the process of a file does not record any more."""
    if header.state in (2, 3):
        return True
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot_id = bytes.fromhex(file.read().strip().replace("-", ""))
        with open(f"/proc/{header.pid}/stat", "rb") as file:
            # Field 2 is a name in brackets that may hold anything, also brackets.
            after_name = file.read().rpartition(b")")[2].split()
        start = int(after_name[22 - 3])
    except (OSError, ValueError, IndexError):
        return True
    beat = header.whole_beat()
    beat_ns = beat[1] if beat else header.start_raw_ns
    age_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - beat_ns
    quiet = age_ns >= 5 * 10**9 and not header.paused and after_name[0] not in (b"T", b"t")
    return boot_id != header.boot_id or start != header.process_start or quiet


def read_file(path):
    """The bytes of a file, and the offsets of segments that changed hands while it was read."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError("not a regular file")
    with open(path, "rb") as file:
        data = file.read()
        given_up = set()
        for offset in range(SEGMENT_BYTES, len(data), SEGMENT_BYTES):
            file.seek(offset)
            header = file.read(SEGMENT_HEADER_BYTES)
            if header[16:24] != data[offset + 16:offset + 24]:
                given_up.add(offset)
    return data, given_up


class Run:
    """The process files of a run: (name, bytes) or (name, bytes, segments given up).

    A file whose bytes are None could not be read. `processes` has those that are process
    files, in the order of their names; `losses` are (file, Loss).
    """

    def __init__(self, files, dead=None):
        self.processes = []
        self.losses = []
        for name, data, *given_up in files:
            if data is None:
                self.losses.append((name, Loss("file", 0, 0)))
                continue
            process = Process(data, *given_up, dead=dead)
            if process.header is not None:
                self.processes.append(process)
            self.losses += [(name, loss) for loss in process.losses]

    @classmethod
    def open(cls, directory, dead=None):
        """Reads a run directory."""
        files = []
        for path in run_files(directory):
            try:
                content = read_file(path)
            except OSError:
                content = (None, set())
            files.append((os.path.basename(path).decode("utf-8", "replace"), *content))
        return cls(files, dead)

    def merged(self):
        """Format 8.7: every record as (ns, process, lane, place, record), in order."""
        records = []
        for index, process in enumerate(self.processes):
            for number, lane in process.lanes.items():
                for place, record in enumerate(lane.records):
                    ns = process.clock.ns(record.time)
                    records.append((ns, index, number, place, record))
        records.sort(key=lambda entry: entry[:4])
        return records


# The JSON Lines form of `stepscope dump --json`

WITHOUT_HEAD = ("name", "info", "frame", "calibration")
SYSTEM_STATES = ["value", "absent", "denied"]


def json_object(process, time_ns, index, lane, record):
    kind, head, fields = record.kind.word, record.head, dict(record.fields)
    line = {"kind": kind, "time_ns": time_ns, "process": index, "lane": lane,
            "tid": record.tid, "owner": record.owner}
    if kind not in WITHOUT_HEAD:
        line.update(depth=head.depth, nest=head.nest)
        if kind != "system":
            line["flags"] = flag_words(head.flags)
    if kind in ("span", "loop_begin", "counter", "mark", "system", "arm"):
        name = process.names.find(head.name)
        line.update(name=name.text, name_id=head.name)
        if kind == "span":
            line["stage"] = name.stage
            if name.object:
                line["object"] = name.object
    if kind == "name":
        fields.update(id=head.name, stage=word(STAGES, fields["stage"]),
                      role=word(ROLES, fields["role"]),
                      scope=word(SCOPES, fields["scope"]))
    if kind == "system":
        line["state"] = word(SYSTEM_STATES, head.flags)
        if fields["subject"] == WHOLE_MACHINE:
            fields["subject"] = None
    fields.pop("ticks", None)
    for edge in ("start", "end"):
        if edge + "_ticks" in fields:
            line[edge + "_ns"] = process.clock.ns(fields.pop(edge + "_ticks"))
    value = fields.get("value")
    if isinstance(value, float) and not math.isfinite(value):
        fields["value"] = None
    line.update(fields)
    return line


def json_lines(run):
    for time_ns, index, lane, _, record in run.merged():
        yield json_object(run.processes[index], time_ns, index, lane, record)


def json_losses(run):
    for name, loss in run.losses:
        yield {"kind": loss.kind, "file": name, "offset": loss.offset,
               "bytes": loss.bytes}


def main(arguments=None):
    parser = argparse.ArgumentParser(description="decode a run directory")
    parser.add_argument("run")
    parser.add_argument("--losses", action="store_true",
                        help="print what could not be read")
    life = parser.add_mutually_exclusive_group()
    life.add_argument("--dead", action="store_true", default=None,
                      help="take every process as ended")
    life.add_argument("--live", action="store_false", dest="dead", default=None,
                      help="take every process as alive")
    options = parser.parse_args(arguments)
    run = Run.open(options.run, options.dead)
    try:
        for line in json_losses(run) if options.losses else json_lines(run):
            print(json.dumps(line))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has seen enough; what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
