"""Reads TensorBoard's event files without TensorBoard: from the public layout of TFRecord files and
the public field numbers of its messages. Raises ValueError for anything that is not whole."""

import collections
import glob
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "export"))

from protobuf_wire import fields  # noqa: E402 (tests/export/protobuf_wire.py)

Event = collections.namedtuple("Event", "wall_s step version values")
Value = collections.namedtuple("Value", "tag scalar text bars description plugin hparams")


def crc32c(data):
    """Bit by bit, from the definition."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def records(data):
    """The bytes of each event."""
    at = 0
    while at < len(data):
        if len(data) - at < 12:
            raise ValueError("cut inside a length")
        size, check = struct.unpack_from("<QI", data, at)
        if masked(data[at:at + 8]) != check:
            raise ValueError("wrong checksum of a length")
        body = data[at + 12:at + 12 + size]
        if len(data) < at + 16 + size:
            raise ValueError("cut inside an event")
        if masked(body) != struct.unpack_from("<I", data, at + 12 + size)[0]:
            raise ValueError("wrong checksum of an event")
        yield body
        at += 16 + size


def read_tensor(data):
    """A text, or rows of three numbers."""
    found = dict(fields(data))
    if found[1] == 7:
        return found[8].decode(), None
    shape = [dict(fields(dim))[1] for number, dim in fields(found[2]) if number == 2]
    numbers = struct.unpack("<%dd" % (len(found[6]) // 8), found[6])
    if found[1] != 2 or shape != [len(numbers) // 3, 3]:
        raise ValueError(f"a histogram of type {found[1]} and shape {shape}")
    return None, [numbers[i:i + 3] for i in range(0, len(numbers), 3)]


def read_hparams(data):
    """{column: text or number} of a row of the table of runs."""
    start = dict(fields(data))[3]
    cells = [dict(fields(cell)) for number, cell in fields(start) if number == 1]
    values = {cell[1].decode(): dict(fields(cell[2])) for cell in cells}
    return {key: value[3].decode() if 3 in value else struct.unpack("<d", value[2])[0]
            for key, value in values.items()}


def read_value(data):
    found = dict(fields(data))
    metadata = dict(fields(found.get(9, b"")))
    content = dict(fields(metadata.get(1, b"")))
    plugin = content.get(1, b"").decode()
    text = bars = scalar = hparams = None
    if 2 in content:
        hparams = read_hparams(content[2])
    elif 8 in found:
        text, bars = read_tensor(found[8])
    else:
        scalar = struct.unpack("<f", found[2])[0]
    return Value(found[1].decode(), scalar, text, bars, metadata.get(3, b"").decode(), plugin,
                 hparams)


def read_event(data):
    found = dict(fields(data))
    values = [read_value(value) for _, value in fields(found.get(5, b""))]
    return Event(struct.unpack("<d", found[1])[0], found.get(2, 0), found.get(3, b"").decode(),
                 values)


def read_file(path):
    with open(path, "rb") as file:
        return [read_event(data) for data in records(file.read())]


def files_in(folder):
    return sorted(glob.glob(os.path.join(glob.escape(folder), "events.out.tfevents.*")))


def read_folder(folder):
    """All events of a directory, file after file; each file begins with the version."""
    events = []
    for path in files_in(folder):
        first, *rest = read_file(path)
        if first.version != "brain.Event:2" or first.values:
            raise ValueError(f"{path} begins with {first}")
        events += rest
    return events


def curves(folder):
    """tag: [(step, wall_s, value)], each value as it is in the event."""
    found = collections.defaultdict(list)
    for event in read_folder(folder):
        for value in event.values:
            found[value.tag].append((event.step, event.wall_s, value))
    return dict(found)


def scalars(folder, tag):
    """[(step, number)]"""
    return [(step, value.scalar) for step, _, value in curves(folder).get(tag, [])]
