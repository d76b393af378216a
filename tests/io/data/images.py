"""Makes PNGs and JPEGs byte by byte, for the tests and the seeds of the fuzz targets."""

import struct
import zlib

# x, y of the first pixel, steps to the next
WHOLE = ((0, 0, 1, 1),)
ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_of(width, height, depth, kind, packed, extra=b"", interlaced=False):
    """A PNG around what its IDAT holds."""
    head = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, int(interlaced))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def some_png(width, height, depth, kind, extra=b"", interlaced=False, level=0):
    """A PNG whose rows go through the filters, of bytes that count up."""
    raw, value = b"", 0
    for x, y, dx, dy in ADAM7 if interlaced else WHOLE:
        columns = len(range(x, width, dx))
        for row in range(len(range(y, height, dy)) if columns else 0):
            size = (columns * CHANNELS[kind] * depth + 7) // 8
            raw += bytes([row % 5]) + bytes((value + i) % 256 for i in range(size))
            value += size
    return png_of(width, height, depth, kind, zlib.compress(raw, level), extra, interlaced)


def exif(orientation, order="<"):
    """A TIFF header and a directory that tells the orientation alone."""
    return (b"II" if order == "<" else b"MM") + struct.pack(order + "HIHHHIHH", 42, 8, 1, 0x0112, 3, 1, orientation, 0) + bytes(4)


def segment(marker, data):
    return b"\xff" + bytes([marker]) + struct.pack(">H", len(data) + 2) + data


class Bits:
    def __init__(self):
        self.text = ""

    def add(self, value, count):
        self.text += f"{value:0{count}b}" if count else ""

    def bytes(self):
        text = self.text + "1" * (-len(self.text) % 8)
        return bytes(int(text[i : i + 8], 2) for i in range(0, len(text), 8)).replace(b"\xff", b"\xff\0")


def flat_jpeg(width, height, colors, adobe=None, extra=b"", restart=0):
    """A JPEG of 8 x 8 blocks of one color each: colors(block) gives its components, each a byte. adobe: the transform that the Adobe marker names."""
    across = (width + 7) // 8
    blocks = [colors(i) for i in range(across * ((height + 7) // 8))]
    count = len(blocks[0])
    # A step of 8 in the frequency domain is one of 1 in the value. Twelve codes of four bits for DC, one of one bit for the end of a block.
    head = segment(0xDB, b"\0" + b"\x08" * 64)
    head += segment(0xC0, struct.pack(">BHHB", 8, height, width, count) + b"".join(bytes([i + 1, 0x11, 0]) for i in range(count)))
    head += segment(0xC4, b"\0" + bytes([0, 0, 0, 12] + [0] * 12) + bytes(range(12))) + segment(0xC4, b"\x10" + bytes([1] + [0] * 15) + b"\0")
    head += segment(0xDD, struct.pack(">H", restart)) if restart else b""
    scan, body, before = Bits(), b"", [0] * count
    for number, color in enumerate(blocks):
        if restart and number and number % restart == 0:
            body += scan.bytes() + bytes([0xFF, 0xD0 + (number // restart - 1) % 8])
            scan, before = Bits(), [0] * count
        for i, value in enumerate(color):
            step = value - 128 - before[i]
            before[i] = value - 128
            size = abs(step).bit_length()
            scan.add(size, 4)
            scan.add(step if step > 0 else step + (1 << size) - 1, size)
            scan.add(0, 1)
    head += segment(0xDA, bytes([count]) + b"".join(bytes([i + 1, 0]) for i in range(count)) + b"\0\x3f\0")
    marker = b"" if adobe is None else segment(0xEE, b"Adobe" + struct.pack(">HHHB", 100, 0, 0, adobe))
    return b"\xff\xd8" + marker + extra + head + body + scan.bytes() + b"\xff\xd9"
