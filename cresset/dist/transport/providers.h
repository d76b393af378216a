#pragma once
// The engines that groups run over, and the libraries that hold them.

#include "cresset/dist/store/store.h"
#include "cresset/dist/transport/engine.h"

namespace cresset::distributed {

// An engine of its name ("shm", "gloo", "mpi", "nccl"), or, for an empty one, that of CRESSET_DIST_TRANSPORT, else shared memory where all ranks are on
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
// The body of such a function, for engines of one class.
template <class Kind> Engine* make_engine(const EngineRequest& request, std::string& message) {
  if (request.abi != kEngineAbi) {
    message = "the library is of another version";
    return nullptr;
  }
  try {
    return new Kind(request);
  } catch (const std::exception& e) { message = e.what(); }
  return nullptr;
}

// The place of this process where an engine's own launcher gives it, and a text that rank 0 makes and all get.
struct JobRequest {
  std::function<std::string(bool one_host)> text;
  int rank = 0, size = 1;
  std::string shared;
};
// The function `cresset_job` of a provider's library: false with the error in `message`.
using JobEntry = bool (*)(JobRequest& job, std::string& message);
// Errors: DistBackendError where the library is not there, or rank 0 fails.
void ask_for_job(const std::string& engine, JobRequest& job);

}  // namespace cresset::distributed
