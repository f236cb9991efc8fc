"""Messages of Protocol Buffers, by nothing but the public wire format."""

VARINT, BYTES = 0, 2
SIZES = {1: 8, 5: 4}  # of the other kinds


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of each: an int, or the bytes of anything else; those of a float too."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == VARINT:
            value, at = varint(data, at)
            yield key >> 3, value
            continue
        if kind == BYTES:
            size, at = varint(data, at)
        elif kind in SIZES:
            size = SIZES[kind]
        else:
            raise ValueError(f"wire type {kind}")
        value = data[at:at + size]
        if len(value) != size:
            raise ValueError("a message is cut off")
        at += size
        yield key >> 3, value
