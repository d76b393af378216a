"""Archives of records, as `torch.save` writes: zip files whose records stand uncompressed below one folder, each at a multiple of 64 bytes."""

import io
import os
import uuid
import zipfile

import cresset as torch

_ALIGNMENT = 64
_LOCAL_HEADER = 30
_FOLDER = "archive"


class PyTorchFileReader:
    """Reads records of an archive by their names.

    Args:
        file: a path or a file that can be read and sought.

    Errors: RuntimeError for a file that is no archive, and for a record that is not there.

    >>> buffer = io.BytesIO(); torch.save(3, buffer)
    >>> torch.PyTorchFileReader(buffer).has_record('data.pkl')
    True
    """

    def __init__(self, file):
        self._file = open(file, "rb") if isinstance(file, (str, os.PathLike)) else file  # noqa: SIM115
        try:
            self._zip = zipfile.ZipFile(self._file)
        except zipfile.BadZipFile as error:
            raise RuntimeError(f"PyTorchFileReader: expected an archive of torch.save, got {getattr(file, 'name', file)!r}: {error}") from None
        names = self._zip.namelist()
        if not names:
            raise RuntimeError("PyTorchFileReader: the archive has no records")
        self._folder = names[0].partition("/")[0] + "/"

    def _info(self, name):
        try:
            return self._zip.getinfo(self._folder + name)
        except KeyError:
            raise RuntimeError(f"PyTorchFileReader: there is no record {name!r} in the archive") from None

    def has_record(self, name):
        """Whether there is a record of this name."""
        return self._folder + name in self._zip.NameToInfo

    def get_all_records(self):
        """The names of all records."""
        return [name.removeprefix(self._folder) for name in self._zip.namelist()]

    def get_record(self, name):
        """The bytes of a record."""
        return self._zip.read(self._info(name))

    def get_record_size(self, name):
        """The number of bytes of a record."""
        return self._info(name).file_size

    def get_record_header_offset(self, name):
        """Where the header of a record begins in the file."""
        return self._info(name).header_offset

    def get_record_offset(self, name):
        """Where the bytes of a record begin in the file."""
        info, at = self._info(name), self._file.tell()
        self._file.seek(info.header_offset + 26)
        lengths = self._file.read(4)
        self._file.seek(at)
        return info.header_offset + _LOCAL_HEADER + int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")

    def get_storage_from_record(self, name, numel, dtype):
        """A tensor of `numel` elements of `dtype` (bytes for `torch.UntypedStorage`) over a copy of a record."""
        dtype = dtype if isinstance(dtype, torch.dtype) else torch.uint8
        data = bytearray(self.get_record(name))
        if len(data) < numel * dtype.itemsize:
            raise RuntimeError(f"PyTorchFileReader: record {name!r} has {len(data)} bytes, expected {numel} elements of {dtype}")
        return torch.frombuffer(data, dtype=dtype, count=numel) if numel else torch.empty(0, dtype=dtype)

    def serialization_id(self):
        """The text that the writer of the archive left to tell it from others; empty where there is none."""
        name = ".data/serialization_id"
        return self.get_record(name).decode() if self.has_record(name) else ""


class PyTorchFileWriter:
    """Writes records to an archive that `torch.load` and `PyTorchFileReader` read.

    Args:
        file: a path or a file that can be written and sought.

    >>> buffer = io.BytesIO(); writer = torch.PyTorchFileWriter(buffer)
    >>> writer.write_record('note', b'text', 4); writer.write_end_of_file()
    >>> torch.PyTorchFileReader(buffer).get_record('note')
    b'text'
    """

    def __init__(self, file, compute_crc32=True, storage_alignment=_ALIGNMENT):
        self._zip = zipfile.ZipFile(file, "w", allowZip64=True)
        name = os.path.basename(os.fspath(file)).partition(".")[0] if isinstance(file, (str, os.PathLike)) else ""
        self._folder, self._alignment = name or _FOLDER, storage_alignment
        self._written, self._version, self._id = [], 3, str(uuid.uuid4().int)[:20]

    def archive_name(self):
        """The folder of the records: the file's name without its ending."""
        return self._folder

    def get_all_written_records(self):
        """The names of the records that were written."""
        return set(self._written)

    def set_min_version(self, version):
        """The archive's version, at least."""
        self._version = max(self._version, version)

    def serialization_id(self):
        """The text that tells this archive from others."""
        return self._id

    def write_record(self, name, data, size):
        """Writes `size` bytes of `data`, bytes or a storage. Errors: RuntimeError for a name that was written before."""
        if name in self._written:
            raise RuntimeError(f"PyTorchFileWriter: a record {name!r} was written before")
        if isinstance(data, (torch.UntypedStorage, torch.TypedStorage)):
            storage = data.untyped() if isinstance(data, torch.TypedStorage) else data
            data = bytes(memoryview(torch.empty(0, dtype=torch.uint8).set_(storage))[:size]) if size else b""
        data = data.encode() if isinstance(data, str) else bytes(data)
        if len(data) < size:
            raise RuntimeError(f"PyTorchFileWriter: expected {size} bytes for record {name!r}, got {len(data)}")
        info = zipfile.ZipInfo(f"{self._folder}/{name}")
        begins = self._zip.fp.tell() + _LOCAL_HEADER + len(info.filename.encode())
        padding = -(begins + 4) % self._alignment
        info.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
        self._zip.writestr(info, data[:size])
        self._written.append(name)

    def write_record_metadata(self, name, size):
        """Leaves room for `size` bytes under a name."""
        self.write_record(name, bytes(size), size)

    def write_end_of_file(self):
        """Writes what ends an archive. Nothing can be written afterwards."""
        for name, text in (("version", f"{self._version}\n"), (".data/serialization_id", self._id)):
            if name not in self._written:
                self.write_record(name, text, len(text))
        self._zip.close()
