// Fused kernels as an operator of the dispatcher, so that graphs call them like any other.

#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "cresset/dispatch/registration.h"
#include "cresset/graph/codegen/fused.h"
#include "cresset/graph/runtime/program.h"

namespace cresset::graph {

namespace {

struct Table {
  std::shared_mutex mutex;
  std::unordered_map<int64_t, std::shared_ptr<const Kernel>> kernels;
  int64_t next = 1;
};
Table& table() {
  static Table* const t = new Table();  // kernels may be dropped while the program ends
  return *t;
}

std::shared_ptr<const Kernel> kernel_of(int64_t number) {
  Table& t = table();
  const std::shared_lock lock(t.mutex);
  const auto found = t.kernels.find(number);
  CRESSET_CHECK(found != t.kernels.end(), "cresset_fused::run: there is no kernel ", number);
  return found->second;
}

std::vector<Tensor> run(int64_t kernel, TensorList arguments) { return kernel_of(kernel)->run({arguments.begin(), arguments.size()}); }

}  // namespace

int64_t keep_kernel(std::shared_ptr<const Kernel> kernel) {
  Table& t = table();
  const std::unique_lock lock(t.mutex);
  t.kernels.emplace(t.next, std::move(kernel));
  return t.next++;
}

void drop_kernel(int64_t number) {
  Table& t = table();
  const std::unique_lock lock(t.mutex);
  t.kernels.erase(number);
}

CRESSET_LIBRARY(cresset_fused, m) { m.def("run(int kernel, Tensor[] arguments) -> Tensor[]", &run); }

[[maybe_unused]] const bool registered = [] {
  set_owning_call("cresset_fused::run", [](int64_t kernel, std::vector<Tensor>& arguments) { return kernel_of(kernel)->run_owning(arguments); });
  return true;
}();

}  // namespace cresset::graph
