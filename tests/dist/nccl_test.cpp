// The engine over NCCL: where there is no GPU it says so; with one, a group of one rank works.

#include <gtest/gtest.h>

#include "cresset/cresset.h"
#include "cresset/dist/distributed.h"
#include "cresset/dist/transport/providers.h"
#include "error_of.h"

namespace cresset::distributed {
namespace {

TEST(Nccl, AGroupNeedsAGpu) {
  if (!engine_available("nccl")) GTEST_SKIP() << "libcresset_nccl is not built here, or cannot be opened: the CUDA toolkit and NCCL are not there";
  EngineGroupOptions o;
  o.engine = "nccl";
  o.timeout = std::chrono::minutes(1);
  intrusive_ptr<ProcessGroup> group;
  const std::string error = error_of([&] { group = make_intrusive<ProcessGroupGloo>(make_intrusive<HashStore>(), 0, 1, o); });
  if (!group) {
    EXPECT_NE(error.find("nccl: expected a GPU, and there is none"), std::string::npos) << error;
    return;
  }
  Tensors tensors = {ones({3})};
  group->allreduce(tensors)->wait();
  EXPECT_EQ(tensors[0].sum().item<double>(), 3);
}

TEST(Nccl, UnknownEnginesAreNamed) {
  EXPECT_NE(error_of([] { engine_available("pigeon"); }).find("expected the engine shm, gloo, mpi or nccl, got 'pigeon'"), std::string::npos);
}

}  // namespace
}  // namespace cresset::distributed
