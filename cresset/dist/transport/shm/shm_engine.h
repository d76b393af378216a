#pragma once
// Collectives through memory that all ranks of one host map.

#include "cresset/dist/store/store.h"
#include "cresset/dist/transport/engine.h"

namespace cresset::distributed {

// Null where the ranks are not on one host.
std::shared_ptr<Engine> make_shm_engine(Store& store, int rank, int size, Deadline deadline);

}  // namespace cresset::distributed
