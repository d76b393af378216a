#pragma once
// The engines that groups run over, and the libraries that hold them.

#include "cresset/dist/store/store.h"
#include "cresset/dist/transport/engine.h"

namespace cresset::distributed {

// An engine of its name ("shm", "gloo"), or, for an empty one, that of CRESSET_DIST_TRANSPORT, else shared memory where all ranks are on
// one host and Gloo where they are not. Errors: DistBackendError where the library is not there, with what to install.
std::shared_ptr<Engine> make_engine(const std::string& name, Store& store, int rank, int size, std::chrono::milliseconds timeout, const std::string& interface);
// Whether the library of an engine can be opened.
CRESSET_API bool engine_available(const std::string& name);

// The function that a provider's library exports as `cresset_engine`: it gives the engine, or null with the error in `message`.
constexpr int kEngineAbi = 1;
struct EngineRequest {
  int abi = kEngineAbi;
  Store* store = nullptr;
  int rank = 0, size = 1;
  std::chrono::milliseconds timeout{};
  std::string interface, host;
};
using EngineEntry = Engine* (*)(const EngineRequest& request, std::string& message);

}  // namespace cresset::distributed
