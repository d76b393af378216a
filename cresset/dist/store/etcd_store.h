#pragma once
// A store in etcd, which outlives every process of the job.

#include "cresset/dist/store/store.h"

namespace cresset::distributed {

struct EtcdStoreOptions {
  // "http://host:port" or "host:port"; members of one cluster stand in a row with commas, and are tried in turn.
  std::string endpoints = "http://127.0.0.1:2379";
  std::string prefix = "/cresset/store/";  // of all keys
  std::chrono::milliseconds timeout = Store::kDefaultTimeout;
  // How long etcd keeps the keys that this store has set after its last change to any; 0: for ever.
  std::chrono::seconds life{0};
};

// Whether the library that speaks to etcd (libcresset_etcd) can be opened.
CRESSET_API bool etcd_available();
// A store whose operations are etcd's transactions: linearizable, as long as a majority of the cluster lives. Extended methods and leases are there;
// leases last whole seconds, at least as many as the cluster allows. Errors: DistStoreError where the library is not there, DistNetworkError where no
// endpoint answers in time.
CRESSET_API intrusive_ptr<Store> open_etcd_store(const EtcdStoreOptions& options = {});

// The function `cresset_etcd_store` of the library: null with the error in `message`.
using EtcdEntry = Store* (*)(const EtcdStoreOptions& options, std::string& message);

}  // namespace cresset::distributed
