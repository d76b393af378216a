#pragma once
// The start of a process that a launcher (`cresset-run`, `torchrun`) has given its place in the environment.

#include "cresset/dist/group/process_group.h"

namespace cresset::distributed {

struct CRESSET_API Environment {
  int rank = 0, world_size = 1, local_rank = 0;
  std::string master_address = "127.0.0.1";
  uint16_t master_port = 29500;
  bool agent_has_store = false;
  std::string attempt = "0";  // of the job, the same in all its processes

  // RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT. Errors: ValueError where one is missing or no number.
  static Environment read();
};

// The store of the job: that of its launcher, or one that rank 0 begins.
CRESSET_API intrusive_ptr<Store> job_store(const Environment& environment, std::chrono::milliseconds timeout = Store::kDefaultTimeout);
// The place that `mpirun` has given this process, and a store that rank 0 begins, whose address MPI carries; a job without a secret gets one. All
// processes call this together. Errors: DistBackendError where the MPI engine is not there.
struct CRESSET_API MpiJob {
  int rank = 0, size = 1;
  std::string host;
  intrusive_ptr<Store> store;
};
CRESSET_API MpiJob mpi_job(std::chrono::milliseconds timeout = Store::kDefaultTimeout);
// The group of all processes of the job: where the options name the engine "mpi", of that which `mpirun` began. Errors: those of the store and of the
// group.
CRESSET_API intrusive_ptr<ProcessGroup> init_process_group(const EngineGroupOptions& options = {});

}  // namespace cresset::distributed
