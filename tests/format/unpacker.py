"""Unpacks a packed file, as format 11 has it: for the second decoder.

The library is python3-zstandard: other code than the C reader calls, and Debian has it.
"""

import struct

import zstandard

HEADER_BYTES = 1024
ENTRY_BYTES = 64
SEGMENT_BYTES = 65536
BLOCK_MOST = 73728
IMAGE_MOST = 2**38
COLUMNS_HEADER = struct.Struct("<8B8HQII")
ENTRY = struct.Struct("<32sQIIBB14x")
PLAIN, RECORDS, DIRECTORY = 0, 1, 2
WINDOWS = {1, 14, 20}
POINTS = {*range(2, 12), 13, 15, 18, 19}
COLUMNS = ["gap", "length", "gap_rest", "length_rest", "argument", "ticks", "value", "subject"]
OF_WINDOWS = COLUMNS[:5]
WORD = 2**64


class Damaged(Exception):
    """A block that cannot be unpacked."""


def is_packed(data):
    """Whether the header says so; the rest may be anything."""
    return (len(data) >= HEADER_BYTES and data[:8] == b"stepscop"
            and struct.unpack_from("<H", data, 10)[0] == 2 and data[24] & 1 == 1)


def image_bytes(data):
    """The size of the image; None: header and index cannot be right."""
    size = struct.unpack_from("<Q", data, 136)[0]
    if size > IMAGE_MOST or HEADER_BYTES + ENTRY_BYTES * segments_of(size) > len(data):
        return None
    return size


def segments_of(size):
    return -(-size // SEGMENT_BYTES)


def original_header(data):
    header = bytearray(data[:HEADER_BYTES])
    struct.pack_into("<HH", header, 8, 1, 1)
    header[24] &= ~1
    struct.pack_into("<Q", header, 136, 0)
    return header


def unfold(number):
    return number >> 1 ^ (-(number & 1) % WORD)


class Image:
    """The bytes of a packed file as they were; `damaged` has the offsets of segments."""

    def __init__(self, data):
        size = image_bytes(data)
        image = bytearray()
        self.damaged = set()
        self.unreadable = set()  # of these not even the segment header is known
        for number in range(segments_of(size)):
            entry = ENTRY.unpack_from(data, HEADER_BYTES + ENTRY_BYTES * number)
            try:
                image += unpack_block(data, entry)
            except Damaged:
                offset = number * SEGMENT_BYTES
                self.damaged.add(offset)
                if entry[5]:
                    self.unreadable.add(offset)
                image += entry[0] + bytes(SEGMENT_BYTES - 32)
        image[:HEADER_BYTES] = original_header(data)
        self.data = bytes(image[:size])
        if size <= HEADER_BYTES:
            self.damaged.discard(0)


def unpack_block(data, entry):
    """The 65,536 bytes of a segment."""
    start, offset, size, content_size, form, has_more = entry
    segment = bytes(SEGMENT_BYTES)
    if size > 0:
        if (size > BLOCK_MOST or content_size > SEGMENT_BYTES or form > DIRECTORY
                or offset + size > len(data)):
            raise Damaged
        content = decompress(data[offset:offset + size], content_size)
        if form == PLAIN:
            segment = content + bytes(SEGMENT_BYTES - content_size)
        else:
            segment = Columns(content, form).segment()
    if segment[:32] != start or any(segment[32:64]) != bool(has_more):
        raise Damaged
    return segment


def decompress(block, size):
    if not block.startswith(b"\x28\xb5\x2f\xfd"):
        raise Damaged
    unpacker = zstandard.ZstdDecompressor(max_window_size=2**31).decompressobj()
    try:
        content = unpacker.decompress(block)
    except zstandard.ZstdError as error:
        raise Damaged from error
    if not unpacker.eof or unpacker.unused_data or len(content) != size:
        raise Damaged
    return content


def regions(form):
    """(start, end) of each place where records can be."""
    if form == RECORDS:
        return [(64, SEGMENT_BYTES)]
    return [(8192 * block + 2048, 8192 * (block + 1)) for block in range(1, 8)]


class Columns:
    """What a block contains of a segment with records (format 11.2)."""

    def __init__(self, content, form):
        if len(content) < COLUMNS_HEADER.size:
            raise Damaged
        fields = COLUMNS_HEADER.unpack_from(content)
        planes, records, (self.base, self.unit, _) = fields[:8], fields[8:16], fields[16:]
        self.regions = list(zip(regions(form), records))
        count = sum(number for _, number in self.regions)
        at = COLUMNS_HEADER.size
        if at + 8 * count > len(content):
            raise Damaged
        self.heads = iter([content[at + 8 * i:at + 8 * i + 8] for i in range(count)])
        kinds = [content[at + 8 * i] for i in range(count)]
        at += 8 * count
        self.columns = {}
        for name, width in zip(COLUMNS, planes):
            of = WINDOWS if name in OF_WINDOWS else POINTS
            number = sum(kind in of for kind in kinds)
            if width > 8 or at + width * number > len(content):
                raise Damaged
            self.columns[name] = iter([
                sum(content[at + plane * number + i] << 8 * plane for plane in range(width))
                for i in range(number)])
            at += width * number
        self.rest = content[at:]
        self.rest_at = 0

    def next(self, column):
        return next(self.columns[column])

    def take(self, size):
        """Bytes of the rest, which goes on as zeros."""
        taken = self.rest[self.rest_at:self.rest_at + size]
        self.rest_at += size
        return taken + bytes(size - len(taken))

    def segment(self):
        out = bytearray()
        self.values = {}
        for (start, end), records in self.regions:
            out += self.take(start - len(out))
            self.last, self.firsts = self.base, {}
            for _ in range(records):
                head = next(self.heads)
                if head[1] == 0 or len(out) + 32 * head[1] > end:
                    raise Damaged
                out += self.record(head)
        out += self.take(SEGMENT_BYTES - len(out))
        if self.rest_at < len(self.rest):
            raise Damaged
        return bytes(out)

    def record(self, head):
        if head[0] in WINDOWS:
            start = head + self.window(head[6])
        elif head[0] in POINTS:
            start = head + self.point(head)
        else:
            start = head
        return start + self.take(32 * head[1] - len(start))

    def scaled(self, column):
        whole = unfold(self.next(column))
        return (whole * self.unit + self.next(column + "_rest")) % WORD

    def window(self, depth):
        gap, length = self.scaled("gap"), self.scaled("length")
        child = self.firsts.get(depth + 1)
        if child is None:
            start = (self.last + gap) % WORD
            end = (start + length) % WORD
        else:
            start = (child - gap) % WORD
            end = (self.last + length) % WORD
        self.firsts = {at: first for at, first in self.firsts.items() if at <= depth}
        self.firsts.setdefault(depth, start)
        self.last = end
        return struct.pack("<QQQ", start, end, unfold(self.next("argument")))

    def point(self, head):
        self.last = (self.last + unfold(self.next("ticks"))) % WORD
        subject = self.next("subject")
        value = (self.values.get((head, subject), 0) + unfold(self.next("value"))) % WORD
        self.values[head, subject] = value
        return struct.pack("<QQQ", self.last, value, subject)
