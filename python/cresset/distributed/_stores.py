"""Key-value stores by which processes find each other and agree."""

import datetime

import _cresset_dist

_DEFAULT_TIMEOUT = datetime.timedelta(minutes=5)


class DistError(RuntimeError):
    """Base of the errors between processes."""


class DistBackendError(DistError):
    """A backend failed."""


class DistNetworkError(DistError):
    """A connection could not be made, or broke."""


class DistStoreError(DistError):
    """A store failed: a key did not appear in time, say."""


def _milliseconds(time, default=None):
    """A timedelta (or seconds) as whole milliseconds."""
    time = default if time is None else time
    if isinstance(time, (int, float)) and not isinstance(time, bool):
        time = datetime.timedelta(seconds=time)
    if not isinstance(time, datetime.timedelta):
        raise TypeError(f"expected a datetime.timedelta as timeout, got {type(time).__name__}")
    milliseconds = round(time.total_seconds() * 1000)
    if milliseconds < 0:
        raise ValueError(f"expected a timeout that is not negative, got {time}")
    return max(1, milliseconds)


class _ArgumentError(ValueError, AssertionError):
    """An argument that does not fit; an AssertionError for programs that know PyTorch's."""


class _RangeError(ValueError, RuntimeError):
    """A number that does not fit; a RuntimeError for programs that know PyTorch's."""


class _LengthError(_RangeError, MemoryError):
    """Lists of different lengths; a MemoryError for programs that know PyTorch's HashStore."""


class DistQueueEmptyError(DistStoreError):
    """The next value of a queue has not come yet."""


_cresset_dist.set_errors({cls.__name__: cls for cls in (DistError, DistBackendError, DistNetworkError, DistStoreError, DistQueueEmptyError)})


class Store:
    """Keys and values (bytes) that all processes of a job see. A class of your own that has `set`, `get`, `add` and `wait` is a store too.

    >>> store = torch.distributed.HashStore()
    >>> store.set("key", "value"); store.get("key"), store.add("count", 2), store.num_keys()
    (b'value', 2, 2)
    """

    def __init__(self):
        if type(self) is Store:
            raise TypeError("Store: make a TCPStore, a FileStore, a HashStore or a PrefixStore, or a class of your own")
        self._impl = None

    def _native(self):
        """The store that C++ sees: the own one, or one that calls the methods of this object."""
        return self._impl if self._impl is not None else _cresset_dist.python_store(self)

    def set(self, key, value):
        """Sets a key to text or bytes."""
        self._impl.set(key, value)

    def get(self, key):
        """The value of a key as bytes; waits until it is there. Errors: DistStoreError when that takes longer than the timeout."""
        return self._impl.get(key)

    def add(self, key, amount):
        """Adds to the number of a key, 0 where there is none, and returns the sum. Errors: ValueError where the key holds something else."""
        return self._impl.add(key, amount)

    def compare_set(self, key, expected_value, desired_value):
        """Sets a key that holds the expected value, or, where that is empty, one that is not there; returns what the key holds then."""
        return self._impl.compare_set(key, expected_value, desired_value)

    def check(self, keys):
        """Whether all keys are there."""
        return self._impl.check(keys)

    def delete_key(self, key):
        """Removes a key; whether it was there."""
        return self._impl.delete_key(key)

    def num_keys(self):
        """How many keys there are."""
        return self._impl.num_keys()

    def list_keys(self):
        """The names of all keys."""
        return self._impl.list_keys()

    def wait(self, keys, timeout=None):
        """Waits until all keys are there. Errors: DistStoreError when that takes longer than the timeout."""
        self._impl.wait(keys, self._impl.timeout() if timeout is None else _milliseconds(timeout))

    def has_extended_api(self):
        """Whether `append`, `multi_get`, `multi_set` and queues are there."""
        return self._impl.has_extended_api()

    def append(self, key, value):
        """Adds text or bytes to the end of a key's value."""
        self._impl.append(key, value)

    def multi_get(self, keys):
        """The values of several keys; waits until all are there."""
        return self._impl.multi_get(keys)

    def multi_set(self, keys, values):
        """Sets several keys at once. Errors: ValueError where the lists differ in length."""
        if len(keys) != len(values):
            raise _LengthError(f"store: multi_set: expected as many values as keys, got {len(keys)} keys and {len(values)} values")
        self._impl.multi_set(keys, values)

    def queue_push(self, key, value):
        """Puts a value at the end of a queue."""
        self._impl.queue_push(key, value)

    def queue_pop(self, key, block=True):
        """Takes the oldest value of a queue; waits for one. Errors: DistQueueEmptyError where there is none in time, or now unless `block`."""
        return self._impl.queue_pop(key, block)

    def queue_len(self, key):
        """How many values a queue has."""
        return self._impl.queue_len(key)

    def barrier(self, key, world_size, timeout=None):
        """Blocks until so many processes have called it with this key. Errors: DistStoreError where they have not in time."""
        if self.add(f"{key}/come", 1) == world_size:
            self.set(f"{key}/all", "")
        self.wait([f"{key}/all"], timeout)

    def clone(self):
        """Another store object over the same values."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, _impl=self._impl.clone())
        return made

    def set_timeout(self, timeout):
        """How long `get` and `wait` wait: a timedelta."""
        self._impl.set_timeout(_milliseconds(timeout))

    @property
    def timeout(self):
        """How long `get` and `wait` wait."""
        return datetime.timedelta(milliseconds=self._impl.timeout())


class TCPStore(Store):
    """A store whose server lives in the process with `is_master=True`; all connect to it at `host_name` and `port` (0, for the master: any that
    is free). A master with a `world_size` waits for so many processes. The server listens at that address alone, and lets in those that know the
    text in CRESSET_DIST_SECRET. Errors: DistNetworkError where no server answers in time.

    >>> store = torch.distributed.TCPStore("localhost", 0, is_master=True)
    >>> store.set("a", "1"); store.port > 0, store.get("a")
    (True, b'1')
    """

    def __init__(self, host_name, port, world_size=None, is_master=False, timeout=_DEFAULT_TIMEOUT, wait_for_workers=True, multi_tenant=False,
                 master_listen_fd=None, use_libuv=True):  # fmt: skip
        if master_listen_fd is not None:
            raise ValueError("TCPStore: a socket that listens already (master_listen_fd) cannot be taken over; pass its port's number")
        workers = -1 if world_size is None else world_size
        self._impl = _cresset_dist.tcp_store(host_name, port, workers, is_master, wait_for_workers, _milliseconds(timeout), multi_tenant)
        self._host, self._libuv = host_name, use_libuv

    @classmethod
    def _held(cls, host, native):
        """The object of a store that C++ has connected."""
        made = object.__new__(cls)
        made._impl, made._host, made._libuv = native, host, True
        return made

    @property
    def host(self):
        """The master's host name."""
        return self._host

    @property
    def port(self):
        """The port on which the master listens."""
        return self._impl.port()

    @property
    def libuvBackend(self):
        """The value of `use_libuv`: the server is one event loop either way."""
        return self._libuv

    def __repr__(self):
        return f"TCPStore({self._host}:{self.port})"


class FileStore(Store):
    """A store in a file that all processes reach. The last of `world_size` stores to end removes the file.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = torch.distributed.FileStore(os.path.join(folder, "store"), 1)
    ...     store.add("n", 5), store.path == os.path.join(folder, "store")
    (5, True)
    """

    def __init__(self, file_name, world_size=-1):
        self._path = str(file_name)
        self._impl = _cresset_dist.file_store(self._path, world_size, _milliseconds(_DEFAULT_TIMEOUT))

    @property
    def path(self):
        """The file's path."""
        return self._path


class HashStore(Store):
    """A store in the memory of one process, for its threads.

    >>> store = dist.HashStore(); store.set('a', 'b'); store.get('a')
    b'b'
    """

    def __init__(self):
        self._impl = _cresset_dist.hash_store(_milliseconds(_DEFAULT_TIMEOUT))


class PrefixStore(Store):
    """Another store, all keys with a prefix and a slash before them.

    >>> store = torch.distributed.HashStore()
    >>> torch.distributed.PrefixStore("trial", store).set("key", "v"); store.get("trial/key")
    b'v'
    """

    def __init__(self, prefix, store):
        if not isinstance(store, Store):
            raise TypeError(f"PrefixStore: expected a store, got {type(store).__name__}")
        self._impl = _cresset_dist.prefix_store(prefix, store._native())
        self._underlying = store

    @property
    def underlying_store(self):
        """The store behind."""
        return self._underlying
