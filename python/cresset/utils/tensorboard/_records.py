"""Files of records with checksums, and the thread that writes them out."""

import os
import socket
import struct
import threading
import time

import cresset as _torch

from . import _wire


def _table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _table()
_LONG = 1 << 14  # from here on several parts at once are faster than byte by byte
_PARTS = 1024


def _plain(data, crc=0):
    crc ^= 0xFFFFFFFF
    table = _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _after_zeros(crc, count):
    """The state of the checksum after `count` bytes of zero, for a state that is one bit: a column of that linear map."""
    for _ in range(count):
        crc = _TABLE[crc & 0xFF] ^ crc >> 8
    return crc


def crc32c(data):
    """The checksum of Castagnoli's polynomial. Long data is cut into parts that are summed side by side and put together after."""
    if len(data) < _LONG:
        return _plain(data)
    length = len(data) // _PARTS
    head = length * _PARTS
    columns = _torch.frombuffer(bytearray(data[:head]), dtype=_torch.uint8).view(_PARTS, length).T.contiguous().to(_torch.int64)
    table = _torch.tensor(_TABLE)
    states = _torch.zeros(_PARTS, dtype=_torch.int64)
    for column in columns:
        states = table[(states ^ column) & 0xFF] ^ (states >> 8)
    shift = [_after_zeros(1 << bit, length) for bit in range(32)]
    state = 0xFFFFFFFF
    for part in states.tolist():
        moved, bit = 0, 0
        while state:
            if state & 1:
                moved ^= shift[bit]
            state >>= 1
            bit += 1
        state = moved ^ part
    return _plain(data[head:], state ^ 0xFFFFFFFF)


def masked_crc(data):
    """The checksum as records store it."""
    crc = crc32c(data)
    return (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF


class RecordWriter:
    """Writes records to a file that is open for bytes: length, checksum, data, checksum.

    >>> import io
    >>> file = io.BytesIO()
    >>> writer = torch.utils.tensorboard.RecordWriter(file)
    >>> writer.write(b"abc")
    >>> len(file.getvalue())
    19
    """

    def __init__(self, writer):
        self._writer = writer

    def write(self, data):
        """Writes one record."""
        length = struct.pack("<Q", len(data))
        self._writer.write(length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data)))

    def flush(self):
        """Hands what was written to the system."""
        self._writer.flush()

    def close(self):
        """Closes the file."""
        self._writer.close()

    @property
    def closed(self):
        """Whether the file is closed."""
        return self._writer.closed


_numbers = iter(range(1 << 62))


class EventFile:
    """A file of events. Events are written when `max_queue` of them wait, after `flush_secs`, and at `flush` and `close`."""

    def __init__(self, folder, max_queue, flush_secs, suffix):
        os.makedirs(folder, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}{suffix}"
        self.folder, self.path = folder, os.path.join(folder, name)
        self.max_queue, self.flush_secs = max(max_queue, 1), flush_secs
        self.records = RecordWriter(open(self.path, "wb"))  # noqa: SIM115
        self.waiting, self.lock, self.ended = [], threading.RLock(), threading.Event()
        self.closed = False
        self.add(_wire.double(1, time.time()) + _wire.data(3, "brain.Event:2"))
        self.flush()
        self.thread = threading.Thread(target=self._flush_now_and_then, daemon=True, name="tensorboard")
        self.thread.start()

    def add(self, event):
        with self.lock:
            if self.closed:
                raise ValueError(f"the event file {self.path!r} is closed")
            self.waiting.append(bytes(event))
            if len(self.waiting) >= self.max_queue:
                self.flush()

    def flush(self):
        with self.lock:
            if self.closed:
                return
            waiting, self.waiting = self.waiting, []
            for event in waiting:
                self.records.write(event)
            self.records.flush()

    def close(self):
        with self.lock:
            if not self.closed:
                self.flush()
                self.closed = True
                self.records.close()
        self.ended.set()

    def _flush_now_and_then(self):
        while not self.ended.wait(self.flush_secs):
            self.flush()
