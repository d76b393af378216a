#include "cresset/dist/transport/providers.h"

#include <dlfcn.h>

#include <cstdlib>

#include "cresset/dist/transport/shm/shm_engine.h"
#include "cresset/kernels/providers/library.h"

namespace cresset::distributed {

namespace {

struct Provider {
  const char *engine, *library, *package;
};
constexpr Provider kProviders[] = {{"gloo", "libcresset_gloo.so", "libgloo-dev"},
                                   {"mpi", "libcresset_mpi.so", "libopenmpi-dev"},
                                   {"nccl", "libcresset_nccl.so", "libnccl-dev with the CUDA toolkit"}};

const Provider& provider(const std::string& name) {
  for (const Provider& p : kProviders)
    if (name == p.engine) return p;
  throw ValueError(str("dist: expected the engine shm, gloo, mpi or nccl, got '", name, "'"));
}

template <class Entry> Entry entry(const Provider& p, const char* name) {
  void* const handle = kernels::open_provider(p.library);
  return handle ? reinterpret_cast<Entry>(dlsym(handle, name)) : nullptr;
}
template <class Entry> Entry needed_entry(const Provider& p, const char* name) {
  const Entry found = entry<Entry>(p, name);
  CRESSET_CHECK_AS(DistBackendError, found, "dist: the engine '", p.engine, "' is not there: ", p.library, " was not built or cannot be opened; install ",
                   p.package, " and build again");
  return found;
}

std::shared_ptr<Engine> open_engine(const std::string& name, Store& store, int rank, int size, std::chrono::milliseconds timeout,
                                    const std::string& interface) {
  const Provider& p = provider(name);
  const auto make = needed_entry<EngineEntry>(p, "cresset_engine");
  EngineRequest request;
  request.store = &store;
  request.rank = rank;
  request.size = size;
  request.timeout = timeout;
  const char* set = std::getenv("GLOO_SOCKET_IFNAME");
  request.interface = !interface.empty() ? interface : set ? set : "";
  request.host = store.ownHost();
  std::string message;
  Engine* const engine = make(request, message);
  CRESSET_CHECK_AS(DistBackendError, engine, "dist: ", name, ": ", message);
  return std::shared_ptr<Engine>(engine);
}

}  // namespace

bool engine_available(const std::string& name) { return name == "shm" || entry<EngineEntry>(provider(name), "cresset_engine") != nullptr; }

void ask_for_job(const std::string& engine, JobRequest& job) {
  std::string message;
  const bool given = needed_entry<JobEntry>(provider(engine), "cresset_job")(job, message);
  CRESSET_CHECK_AS(DistBackendError, given, "dist: ", engine, ": ", message);
}

std::shared_ptr<Engine> make_engine(const std::string& name, Store& store, int rank, int size, std::chrono::milliseconds timeout,
                                    const std::string& interface) {
  const char* set = std::getenv("CRESSET_DIST_TRANSPORT");
  const std::string wanted = !name.empty() ? name : set ? set : "";
  if (!wanted.empty() && wanted != "shm") return open_engine(wanted, store, rank, size, timeout, interface);
  auto engine = make_shm_engine(store, rank, size, after(timeout));
  CRESSET_CHECK_AS(DistBackendError, engine || wanted.empty(), "dist: shared memory was asked for, but not all ranks are on one host");
  return engine ? engine : open_engine("gloo", store, rank, size, timeout, interface);
}

}  // namespace cresset::distributed
