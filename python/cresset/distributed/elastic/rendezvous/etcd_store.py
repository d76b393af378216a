"""A store in etcd (v3), which outlives every process of the job."""

import datetime

import _cresset_dist
from cresset.distributed._stores import _DEFAULT_TIMEOUT, Store, _milliseconds

__all__ = ["EtcdStore"]


class EtcdStore(Store):
    """Keys under a prefix in etcd, with all methods of stores, leases included. Its operations are linearizable while most members of the cluster live.

    Args:
        etcd_client: endpoints ("host:2379", "http://a:2379,http://b:2379"), or a client object with a `base_uri`.
        etcd_store_prefix: of all keys.
        timeout: how long `get` and `wait` wait.
        life: seconds that keys are kept after this store's last change; 0: for ever.

    Errors: DistStoreError where the library is not there (libcurl4-openssl-dev), DistNetworkError where no endpoint answers.

    >>> from cresset.distributed.elastic.rendezvous.etcd_store import EtcdStore
    >>> issubclass(EtcdStore, dist.Store)
    True
    """

    def __init__(self, etcd_client, etcd_store_prefix="/torch/elastic/store", timeout=None, life=0):
        self.client, self.prefix = etcd_client, etcd_store_prefix if etcd_store_prefix.endswith("/") else etcd_store_prefix + "/"
        endpoints = etcd_client if isinstance(etcd_client, str) else etcd_client.base_uri
        wait = _milliseconds(_DEFAULT_TIMEOUT if timeout is None else timeout)
        self._impl = _cresset_dist.etcd_store(endpoints, self.prefix, wait, round(datetime.timedelta(seconds=life).total_seconds()))
