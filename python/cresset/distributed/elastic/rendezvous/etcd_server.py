"""A server of etcd for one job or test, on this machine."""

import shutil
import socket
import subprocess
import tempfile
import time

from cresset.distributed._stores import DistError

from .etcd_store import EtcdStore

__all__ = ["EtcdServer"]

_PATIENCE = 10  # seconds in which a server ends


def _free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class EtcdServer:
    """Runs `etcd` (Debian: etcd-server) on free ports of the loopback interface, with its data in a folder that goes with it.

    >>> from cresset.distributed.elastic.rendezvous.etcd_server import EtcdServer
    >>> EtcdServer().get_host()
    '127.0.0.1'
    """

    def __init__(self, data_dir=None):
        self._folder, self._own = data_dir, data_dir is None
        self._process, self._port = None, None

    def start(self, timeout=60, num_retries=3, stderr=None):
        """Starts the server and waits until it answers. Errors: RuntimeError where there is no `etcd`, or it does not answer in time."""
        program = shutil.which("etcd")
        if program is None:
            raise RuntimeError("EtcdServer: expected the program etcd (Debian: etcd-server), found none")
        for _ in range(num_retries):
            self._launch(program, stderr)
            end = time.monotonic() + timeout
            while time.monotonic() < end and self._process.poll() is None:
                try:
                    EtcdStore(self.get_endpoint(), timeout=2)
                    return
                except DistError:
                    time.sleep(0.05)
            self.stop()
        raise RuntimeError(f"EtcdServer: etcd does not answer within {timeout} s")

    def _launch(self, program, stderr):
        if self._own:
            self._folder = tempfile.mkdtemp(prefix="etcd")
        self._port = self._port or _free_port()
        clients, peers = f"http://{self.get_endpoint()}", f"http://127.0.0.1:{_free_port()}"
        self._process = subprocess.Popen(
            [program, "--data-dir", self._folder, "--listen-client-urls", clients, "--advertise-client-urls", clients, "--listen-peer-urls", peers,
             "--initial-advertise-peer-urls", peers, "--initial-cluster", f"default={peers}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL if stderr is None else stderr,
        )  # fmt: skip

    def stop(self):
        """Ends the server and removes its data."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:  # it may wait for peers that are gone
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._own and self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def get_host(self):
        """The address at which the server listens."""
        return "127.0.0.1"

    def get_port(self):
        """The port at which it listens; None before it starts."""
        return self._port

    def get_endpoint(self):
        """Host and port, as `EtcdStore` and `--rdzv-endpoint` take them."""
        return f"127.0.0.1:{self._port}"

    def get_client(self):
        """A store on the server."""
        return EtcdStore(self.get_endpoint())
