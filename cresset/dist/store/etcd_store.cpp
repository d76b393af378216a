#include "cresset/dist/store/etcd_store.h"

#include <dlfcn.h>

#include "cresset/kernels/providers/library.h"

namespace cresset::distributed {

namespace {

EtcdEntry entry() {
  void* const handle = kernels::open_provider("libcresset_etcd.so");
  return handle ? reinterpret_cast<EtcdEntry>(dlsym(handle, "cresset_etcd_store")) : nullptr;
}

}  // namespace

bool etcd_available() { return entry() != nullptr; }

intrusive_ptr<Store> open_etcd_store(const EtcdStoreOptions& options) {
  const EtcdEntry make = entry();
  CRESSET_CHECK_AS(DistStoreError, make, "etcd: libcresset_etcd.so was not built or cannot be opened; install Debian's libcurl4-openssl-dev and build again");
  std::string message;
  Store* const store = make(options, message);
  CRESSET_CHECK_AS(DistNetworkError, store, message);
  return intrusive_ptr<Store>::unsafe_steal_from_new(store);
}

}  // namespace cresset::distributed
