"""Files of records with checksums."""

import struct

import _cresset
from _cresset import crc32c, masked_crc  # noqa: F401


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


class EventFile:
    """A file of events. Events are written when `max_queue` of them wait, after `flush_secs`, and at `flush` and `close`."""

    def __init__(self, folder, max_queue, flush_secs, suffix):
        self.folder, self.closed = folder, False
        self._file, self.path = _cresset._event_file(folder, max_queue, flush_secs, suffix)

    def add(self, event):
        _cresset._event_file_add(self._file, bytes(event))

    def flush(self):
        _cresset._event_file_flush(self._file)

    def close(self):
        self.closed = True
        _cresset._event_file_close(self._file)
