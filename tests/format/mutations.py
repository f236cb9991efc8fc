"""Deterministic damage: the same seed gives the same bytes, on every machine."""

import random

SEGMENT_BYTES = 65536
UNIT = 32


class Mutator:
    """Yields damaged copies of one file."""

    def __init__(self, data, seed):
        self.data = data
        self.random = random.Random(seed)
        # A hit in the long stretches of zeroes rarely changes anything.
        self.interesting = [i for i, byte in enumerate(data) if byte] or [0]

    def place(self, data):
        """An offset, mostly of a byte that has a meaning."""
        if self.random.random() < 0.1:
            return self.random.randrange(len(data))
        near = self.random.choice(self.interesting)
        near += self.random.choice((0, 0, 0, 1, -1, 4))
        return min(max(near, 0), len(data) - 1)

    def flip_bits(self, data):
        for _ in range(self.random.choice((1, 1, 2, 5))):
            data[self.place(data)] ^= 1 << self.random.randrange(8)

    def set_field(self, data):
        """Moves a number by a little, or to one at which something could end."""
        size = self.random.choice((1, 2, 4, 8))
        offset = self.place(data)
        if self.random.random() < 0.5:
            # Fields of heads, lengths of texts and segment headers are in these places.
            offset -= offset % UNIT
            offset += self.random.choice((0, 1, 2, 4, 6, 8, 12, 16, 20, 22))
        offset -= offset % size
        field = data[offset:offset + size]
        value = int.from_bytes(field, "little") + self.random.choice((-2, -1, 1, 2))
        if self.random.random() < 0.6:
            value = self.random.choice((0, 1, 2, 7, 8, 9, 32, 63, 64, 192, 255, 7 * 65536,
                                        2**63, -1, self.random.getrandbits(64)))
        new = (value % 2**64).to_bytes(8, "little")
        data[offset:offset + len(field)] = new[:len(field)]

    def zero_range(self, data):
        offset = self.place(data)
        size = self.random.choice((1, 8, 32, 64, 512, 4096, 8192))
        size = len(data[offset:offset + size])
        data[offset:offset + size] = bytes(size)

    def cut(self, data):
        del data[self.place(data) + self.random.choice((0, 0, 1)):]

    def swap_units(self, data):
        self.swap(data, UNIT, self.place(data) // UNIT, self.place(data) // UNIT)

    def swap_segments(self, data):
        count = len(data) // SEGMENT_BYTES
        if count > 2:
            self.swap(data, SEGMENT_BYTES, self.random.randrange(1, count),
                      self.random.randrange(1, count))

    def copy_segment(self, data):
        """The same segment twice, perhaps with another lease."""
        count = len(data) // SEGMENT_BYTES
        if count > 1:
            first = self.random.randrange(1, count) * SEGMENT_BYTES
            copy = data[first:first + SEGMENT_BYTES]
            copy[16] ^= self.random.choice((0, 1, 2))
            data += copy

    @staticmethod
    def swap(data, size, one, other):
        a = slice(one * size, one * size + size)
        b = slice(other * size, other * size + size)
        if len(data[a]) == len(data[b]) == size:
            data[a], data[b] = data[b], data[a]

    def mutants(self, count):
        changes = (self.flip_bits, self.set_field, self.zero_range, self.cut,
                   self.swap_units, self.swap_segments, self.copy_segment)
        weights = (5, 10, 3, 2, 2, 1, 1)
        for _ in range(count):
            data = bytearray(self.data)
            depth = self.random.choice((1, 1, 2, 3))
            for change in self.random.choices(changes, weights, k=depth):
                if data:
                    change(data)
            yield bytes(data)
