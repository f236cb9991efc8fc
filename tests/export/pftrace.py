"""Reads Perfetto traces by the public field numbers, without a look at our .proto, and does with events
what a trace processor does: sorts them by time, those of one time as they came, and nests slices."""

import collections
import struct

from protobuf_wire import fields

Slice = collections.namedtuple("Slice", "track start end name category notes depth")
Instant = collections.namedtuple("Instant", "track time name notes")
Point = collections.namedtuple("Point", "track time value")

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
NAMES_START_AFRESH, NEEDS_NAMES = 1, 2


def message(data):
    """The fields of a message by number, each a list."""
    found = collections.defaultdict(list)
    for number, value in fields(data):
        found[number].append(value)
    return found


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def one(found, number, default=None):
    return found[number][0] if number in found else default


def text(found, number, default=""):
    return found[number][0].decode("utf-8") if number in found else default


class Trace:
    def __init__(self, data):
        self.tracks = {}        # uuid: {"name", "parent", "pid", "tid", "counter"}
        self.clocks = {}
        self.slices, self.instants, self.points = [], [], []
        self.names, self.categories, self.note_names = {}, {}, {}
        self.packets = 0
        events = []
        for number, value in fields(data):
            if number != 1:
                raise ValueError("a trace has packets only")
            self.packets += 1
            self.take(message(value), events)
        self.nest(sorted(events, key=lambda event: event[0]))

    def take(self, packet, events):
        if one(packet, 10) != 1:
            raise ValueError("a packet is of no sequence")
        flags = one(packet, 13, 0)
        if flags & NAMES_START_AFRESH:
            self.names, self.categories, self.note_names = {}, {}, {}
            self.clock = one(message(one(packet, 59)), 58)
        for snapshot in packet.get(6, []):
            found = message(snapshot)
            self.primary = one(found, 2)
            for clock in map(message, found[1]):
                self.clocks[one(clock, 1)] = one(clock, 2)
        for interned in map(message, packet.get(12, [])):
            for field, table in ((1, self.categories), (2, self.names), (3, self.note_names)):
                for entry in map(message, interned.get(field, [])):
                    if one(entry, 1) in table:
                        raise ValueError("a name is written twice")
                    table[one(entry, 1)] = text(entry, 2)
        for track in packet.get(60, []):
            self.take_track(message(track))
        for event in packet.get(11, []):
            if not flags & NEEDS_NAMES:
                raise ValueError("an event without the names before it")
            events.append((one(packet, 8), self.event(message(event))))

    def take_track(self, found):
        process, thread = message(one(found, 3, b"")), message(one(found, 4, b""))
        counter = message(one(found, 8, b""))
        if one(found, 1) in self.tracks:
            raise ValueError("a track is written twice")
        self.tracks[one(found, 1)] = {
            "name": text(found, 2) or text(process, 6) or text(thread, 5), "parent": one(found, 5),
            "pid": one(process, 1, one(thread, 1)), "tid": one(thread, 2),
            "unit": text(counter, 6), "is_process": 3 in found, "is_counter": 8 in found}

    def note(self, found):
        value = text(found, 6) if 6 in found else signed(one(found, 4))
        return self.note_names[one(found, 1)], value

    def event(self, found):
        """What it is, with names in place of numbers: these count only up to here."""
        value = struct.unpack("<d", one(found, 44))[0] if 44 in found else None
        name = text(found, 23) if 23 in found else self.names.get(one(found, 10))
        category = self.categories[one(found, 3)] if 3 in found else None
        if one(found, 11) not in self.tracks:
            raise ValueError("an event on no track")
        return (one(found, 9), one(found, 11), name, category,
                dict(self.note(message(note)) for note in found.get(4, [])), value)

    def nest(self, events):
        open_slices = collections.defaultdict(list)
        for time, (kind, track, name, category, notes, value) in events:
            stack = open_slices[track]
            if kind == BEGIN:
                stack.append((time, name, category, notes))
            elif kind == END:
                start, name, category, notes = stack.pop()
                self.slices.append(Slice(track, start, time, name, category, notes, len(stack)))
            elif kind == INSTANT:
                self.instants.append(Instant(track, time, name, notes))
            elif kind == COUNTER:
                self.points.append(Point(track, time, value))
            else:
                raise ValueError(f"type {kind}")
        if any(open_slices.values()):
            raise ValueError("a slice has no end")

    def named(self, name):
        """The numbers of the tracks of this name."""
        return [uuid for uuid, track in self.tracks.items() if track["name"] == name]


def load(path):
    with open(path, "rb") as file:
        return Trace(file.read())
