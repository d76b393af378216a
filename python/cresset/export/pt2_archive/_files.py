"""Archives as files with names: what is written and read, without a look at what it says."""

import io
import os
import zipfile

from . import constants

_BYTE_ORDER = "little"


class BadZipFile(ValueError, zipfile.BadZipFile):
    """A file that is no archive."""


class PT2ArchiveWriter:
    """Writes files into an archive, which says at the end of the `with` statement that it is one. At a path it appears whole or not at all.

    Args:
        archive_path_or_buffer: a path, or a file open for writing bytes.

    Errors: FileNotFoundError for a path whose folder is not there.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> with torch.export.pt2_archive.PT2ArchiveWriter(buffer) as archive:
    ...     archive.write_string("extra/note", "hi")
    >>> torch.export.pt2_archive.PT2ArchiveReader(buffer).read_string("extra/note")
    'hi'
    """

    def __init__(self, archive_path_or_buffer):
        is_path = isinstance(archive_path_or_buffer, (str, os.PathLike))
        self._path = os.fspath(archive_path_or_buffer) if is_path else None
        self._partial = f"{self._path}.{os.getpid()}.partial"
        self._root = os.path.splitext(os.path.basename(self._path))[0] if is_path else "archive"
        self._out = open(self._partial, "wb") if is_path else archive_path_or_buffer
        self.archive_file = zipfile.ZipFile(self._out, "w", zipfile.ZIP_STORED)
        self._names = set()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            self._drop()
            return
        for name, value in ((constants.ARCHIVE_FORMAT_PATH, constants.ARCHIVE_FORMAT_VALUE), (constants.ARCHIVE_VERSION_PATH, constants.ARCHIVE_VERSION_VALUE)):
            if not self.has_record(name):
                self.write_string(name, value)
        self.close()

    def has_record(self, name):
        """Whether a file of this name has been written."""
        return name in self._names

    def count_prefix(self, prefix):
        """How many files have names that start so."""
        return sum(name.startswith(prefix) for name in self._names)

    def write_bytes(self, name, data):
        """A file of these bytes. Errors: TypeError for anything else, ValueError for a name that is taken."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"write_bytes: {name!r}: expected bytes, got {type(data).__name__}; write_string takes a str")
        if name in self._names:
            raise ValueError(f"write_bytes: the archive has a file {name!r} already")
        self._names.add(name)
        self.archive_file.writestr(zipfile.ZipInfo(f"{self._root}/{name}"), data)

    def write_string(self, name, data):
        """A file of this text, as UTF-8. Errors: TypeError for anything else, ValueError for a name that is taken."""
        if not isinstance(data, str):
            raise TypeError(f"write_string: {name!r}: expected a str, got {type(data).__name__}")
        self.write_bytes(name, data.encode())

    def write_file(self, name, file_path):
        """A copy of a file of the disk. Errors: FileNotFoundError for a path that is no file."""
        if not os.path.isfile(file_path):
            raise FileNotFoundError(f"write_file: {name!r}: {os.fspath(file_path)!r} is no file")
        with open(file_path, "rb") as file:
            self.write_bytes(name, file.read())

    def write_folder(self, archive_dir, folder_dir):
        """Copies of all files below a folder of the disk, in order of their names. Errors: NotADirectoryError for a path that is no folder."""
        if not os.path.isdir(folder_dir):
            raise NotADirectoryError(f"write_folder: {archive_dir!r}: {os.fspath(folder_dir)!r} is no folder")
        paths = [os.path.join(place, name) for place, _, names in os.walk(folder_dir) for name in names]
        for path in sorted(paths):
            inside = os.path.relpath(path, folder_dir).replace(os.sep, "/")
            self.write_file(f"{archive_dir}/{inside}", path)

    def close(self):
        """Finishes the archive; a second call does nothing."""
        if self.archive_file is None:
            return
        for name, value in ((".data/version", "6\n"), ("byteorder", _BYTE_ORDER), (".data/serialization_id", "0" * 40)):
            self.write_string(name, value)
        self.archive_file.close()
        self.archive_file = None
        if self._path is not None:
            self._out.close()
            os.replace(self._partial, self._path)

    def _drop(self):
        self.archive_file.close()
        self.archive_file = None
        if self._path is not None:
            self._out.close()
            os.remove(self._partial)


class PT2ArchiveReader:
    """Reads files of an archive by their names.

    Args:
        archive_path_or_buffer: a path, or a file open for reading bytes.

    Errors: ValueError for a file that is damaged or no archive of a program, FileNotFoundError for none.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> _ = torch.export.pt2_archive._package.package_pt2(buffer, extra_files={"note": "hi"})
    >>> with torch.export.pt2_archive.PT2ArchiveReader(buffer) as archive:
    ...     archive.get_file_names()[:2], archive.read_string("extra/note")
    (['extra/note', 'archive_format'], 'hi')
    """

    def __init__(self, archive_path_or_buffer):
        is_path = isinstance(archive_path_or_buffer, (str, os.PathLike))
        self._file = os.fspath(archive_path_or_buffer) if is_path else "file"
        try:
            self.archive_file = zipfile.ZipFile(archive_path_or_buffer)
        except zipfile.BadZipFile as error:
            raise BadZipFile(f"load: {self._file!r} is no .pt2 archive, or is damaged: {error}") from error
        names = self.archive_file.namelist()
        self._root = names[0].split("/")[0] + "/" if names and "/" in names[0] else ""
        self._names = {name.removeprefix(self._root): name for name in names if name.startswith(self._root)}
        if not self.has_record(constants.ARCHIVE_FORMAT_PATH) or self.read_bytes(constants.ARCHIVE_FORMAT_PATH) != constants.ARCHIVE_FORMAT_VALUE.encode():
            self.archive_file.close()
            raise ValueError(f"load: {self._file!r}: expected an archive that torch.export.save wrote, with archive_format pt2")

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.archive_file.close()

    def has_record(self, name):
        """Whether there is a file of this name."""
        return name in self._names

    def read_bytes(self, name):
        """The bytes of a file. Errors: ValueError for a name that is not there, and for a file that is damaged or expands to far more than it has."""
        if name not in self._names:
            raise ValueError(f"load: {self._file!r}: the archive has no entry {name!r}")
        entry = self.archive_file.getinfo(self._names[name])
        if entry.file_size > (most := 100 * entry.compress_size + 2**20):
            raise ValueError(f"load: {self._file!r}: {name!r} expands {entry.compress_size} bytes to {entry.file_size}, expected at most {most}")
        try:
            return self.archive_file.read(entry)
        except (zipfile.BadZipFile, EOFError) as error:
            raise BadZipFile(f"load: {self._file!r} is no .pt2 archive, or is damaged: {name!r}: {error}") from error

    def read_string(self, name):
        """The text of a file. Errors: as `read_bytes`, and ValueError for bytes that are no UTF-8."""
        return self.read_bytes(name).decode()

    def archive_version(self):
        """The number of the format. Errors: ValueError for text that is no number."""
        return int(self.read_string(constants.ARCHIVE_VERSION_PATH))

    def get_file_names(self):
        """The names of all files, in order."""
        return list(self._names)


def is_pt2_package(serialized_model):
    """Whether a path, bytes or an open file is an archive of programs. It is not read further than to the mark that says so.

    >>> torch.export.pt2_archive.is_pt2_package(b"nothing")
    False
    """
    is_data = isinstance(serialized_model, (bytes, bytearray, memoryview))
    try:
        with PT2ArchiveReader(io.BytesIO(serialized_model) if is_data else serialized_model):
            return True
    except (ValueError, OSError):
        return False
