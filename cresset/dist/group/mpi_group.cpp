// Groups of the processes that `mpirun` has begun.

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>

#include "cresset/dist/elastic/environment.h"

namespace cresset::distributed {

namespace {

EngineGroupOptions over_mpi(EngineGroupOptions o) {
  o.engine = "mpi";
  return o;
}

}  // namespace

ProcessGroupMPI::ProcessGroupMPI(const intrusive_ptr<Store>& store, int rank, int size, const Options& options)
    : EngineGroup(store, rank, size, over_mpi(options)) {}

intrusive_ptr<ProcessGroupMPI> ProcessGroupMPI::createProcessGroupMPI(std::vector<int> ranks) {
  static std::mutex mutex;
  static std::map<std::vector<int>, int> made;
  const std::lock_guard<std::mutex> lock(mutex);
  static const MpiJob job = mpi_job(kProcessGroupDefaultTimeout);
  if (ranks.empty()) {
    ranks.resize(static_cast<size_t>(job.size));
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  for (const int r : ranks) CRESSET_CHECK_VALUE(r >= 0 && r < job.size, "createProcessGroupMPI: expected ranks in [0, ", job.size, "), got ", r);
  std::string name = "group";
  for (const int r : ranks) name += str(" ", r);
  name += str(" number ", ++made[ranks]);
  const auto at = std::find(ranks.begin(), ranks.end(), job.rank);
  if (at == ranks.end()) return nullptr;
  return make_intrusive<ProcessGroupMPI>(make_intrusive<PrefixStore>(name, job.store), static_cast<int>(at - ranks.begin()), static_cast<int>(ranks.size()));
}

}  // namespace cresset::distributed
