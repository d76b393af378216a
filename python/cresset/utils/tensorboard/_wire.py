"""The wire format of protocol buffers (protobuf.dev/programming-guides/encoding), written only: a message is the bytes of its fields."""

import struct


def varint(value):
    """Seven bits a byte, the lowest first; negative numbers as 64 bits."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(field, value):
    """A field of an int, enum or bool; nothing for None."""
    return b"" if value is None else varint(field << 3) + varint(int(value))


def double(field, value):
    """A field of eight bytes; nothing for None."""
    return b"" if value is None else varint(field << 3 | 1) + struct.pack("<d", value)


def single(field, value):
    """A field of four bytes; nothing for None."""
    return b"" if value is None else varint(field << 3 | 5) + struct.pack("<f", value)


def data(field, value):
    """A field of bytes, text or a message; nothing for None."""
    if value is None:
        return b""
    value = value.encode() if isinstance(value, str) else bytes(value)
    return varint(field << 3 | 2) + varint(len(value)) + value


def each(field, values):
    """A repeated field of bytes, texts or messages."""
    return b"".join(data(field, value) for value in values)


def doubles(field, values):
    """A packed field of doubles."""
    values = list(values)
    return data(field, struct.pack(f"<{len(values)}d", *values))


def singles(field, values):
    """A packed field of floats."""
    values = list(values)
    return data(field, struct.pack(f"<{len(values)}f", *values))


def integers(field, values):
    """A packed field of ints."""
    return data(field, b"".join(varint(int(value)) for value in values))


def mapped(field, pairs):
    """A map of texts to messages."""
    return each(field, (data(1, key) + data(2, value) for key, value in pairs))
