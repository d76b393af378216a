"""Files of records with checksums, and the thread that writes them out."""

import os
import socket
import struct
import threading
import time

from _cresset import crc32c, masked_crc  # noqa: F401

from . import _wire


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
