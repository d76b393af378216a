#include "cresset/autograd/anomaly_mode.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "cresset/autograd/grad_mode.h"
#include "cresset/ops/functions.h"

namespace cresset {
namespace autograd {

namespace {

std::atomic<bool> g_enabled{false}, g_check_nan{true};

struct Provider {
  std::mutex mutex;
  std::function<std::string()> function;
  std::function<void(const Node&)> reporter;
};
Provider& provider() {
  static Provider p;
  return p;
}

std::string call_stack() {
  void* frames[48];
  const int n = backtrace(frames, 48);
  std::string s;
  for (int i = 0; i < n; i++) {
    Dl_info info;
    if (!dladdr(frames[i], &info) || !info.dli_sname) continue;
    int status = 1;
    char* readable = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
    const std::string symbol = status == 0 ? readable : info.dli_sname;
    std::free(readable);
    // The way from the operator to here says nothing about the user's program.
    if (symbol.find("cresset::autograd::") != std::string::npos) continue;
    s += "  " + symbol + "\n";
  }
  return s;
}

}  // namespace

bool AnomalyMode::is_enabled() { return g_enabled.load(std::memory_order_relaxed); }
bool AnomalyMode::should_check_nan() { return g_check_nan.load(std::memory_order_relaxed); }

void AnomalyMode::set_enabled(bool enabled, bool check_nan) {
  g_check_nan.store(check_nan, std::memory_order_relaxed);
  g_enabled.store(enabled, std::memory_order_relaxed);
}

void AnomalyMode::set_stack_provider(std::function<std::string()> function) {
  std::lock_guard<std::mutex> lock(provider().mutex);
  provider().function = std::move(function);
}

std::string AnomalyMode::current_stack() {
  std::function<std::string()> function;
  {
    std::lock_guard<std::mutex> lock(provider().mutex);
    function = provider().function;
  }
  return function ? function() : call_stack();
}

void AnomalyMode::set_reporter(std::function<void(const Node&)> reporter) {
  std::lock_guard<std::mutex> lock(provider().mutex);
  provider().reporter = std::move(reporter);
}

bool AnomalyMode::report(const Node& node) {
  std::function<void(const Node&)> reporter;
  {
    std::lock_guard<std::mutex> lock(provider().mutex);
    reporter = provider().reporter;
  }
  if (reporter) reporter(node);
  return reporter != nullptr;
}

void AnomalyMode::check_nan(const Node& node, const variable_list& grads) {
  NoGradGuard no_grad;
  for (size_t i = 0; i < grads.size(); i++) {
    const Tensor& g = grads[i];
    if (!g.defined() || g.numel() == 0 || g.lacks_data() || !is_differentiable_type(g.scalar_type())) continue;
    const bool nan = cresset::isnan(g).any().item<bool>();
    CRESSET_CHECK(!nan, node.name(), ": returned nan values in its output ", i, ", ", g);
  }
}

DetectAnomalyGuard::DetectAnomalyGuard(bool check_nan) : enabled_(AnomalyMode::is_enabled()), check_nan_(AnomalyMode::should_check_nan()) {
  AnomalyMode::set_enabled(true, check_nan);
}

DetectAnomalyGuard::~DetectAnomalyGuard() { AnomalyMode::set_enabled(enabled_, check_nan_); }

}  // namespace autograd
}  // namespace cresset
