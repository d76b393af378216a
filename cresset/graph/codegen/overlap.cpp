#include "cresset/graph/codegen/overlap.h"

#include <algorithm>
#include <numeric>

#include "cresset/core/tensor_impl.h"

namespace cresset::graph {

namespace {

// Steps of `stride` bytes, of which there may be up to `most`.
struct Steps {
  int64_t stride, most;
};

// Whether steps, at most so many of each stride, add up to a distance.
class Sum {
 public:
  explicit Sum(std::vector<Steps> steps) : steps_(std::move(steps)) {
    std::sort(steps_.begin(), steps_.end(), [](const Steps& a, const Steps& b) { return a.stride > b.stride; });
    reach_.assign(steps_.size() + 1, 0);
    divisor_.assign(steps_.size() + 1, 0);
    for (size_t k = steps_.size(); k-- > 0;) {
      reach_[k] = reach_[k + 1] + steps_[k].stride * steps_[k].most;
      divisor_[k] = std::gcd(divisor_[k + 1], steps_[k].stride);
    }
  }

  bool may_be(int64_t distance, size_t from = 0) {
    if (distance < 0 || distance > reach_[from]) return false;
    if (distance == 0) return true;
    if (distance % divisor_[from] != 0) return false;
    if (++tries_ > kMostTries || from + 1 == steps_.size()) return true;
    const auto [stride, most] = steps_[from];
    const int64_t left = distance - reach_[from + 1];
    for (int64_t n = std::min(most, distance / stride), least = left > 0 ? (left + stride - 1) / stride : 0; n >= least; n--)
      if (may_be(distance - n * stride, from + 1)) return true;
    return false;
  }

 private:
  static constexpr int kMostTries = 100000;
  std::vector<Steps> steps_;
  std::vector<int64_t> reach_, divisor_;  // of the steps from here on: their sum, and what divides all their sums
  int tries_ = 0;
};

int64_t begin_of(const Tensor& t) { return t.storage_offset() * t.itemsize(); }

bool is_over_storage(const Tensor& t) { return t.defined() && t.has_storage() && t.layout() == Layout::Strided; }

}  // namespace

bool share_memory(const Tensor& a, const Tensor& b) {
  if (!is_over_storage(a) || !is_over_storage(b) || !a.is_alias_of(b) || a.numel() == 0 || b.numel() == 0) return false;
  // Elements of `a`, and of `b` counted from its last byte backwards: all steps go one way.
  std::vector<Steps> steps;
  int64_t end = begin_of(b);
  const auto add = [&](const Tensor& t) {
    int64_t extent = t.itemsize() - 1;
    if (extent > 0) steps.push_back({1, extent});
    for (int64_t d = 0; d < t.dim(); d++) {
      const Steps s{t.strides()[d] * t.itemsize(), t.sizes()[d] - 1};
      if (s.stride == 0 || s.most == 0) continue;
      steps.push_back(s);
      extent += s.stride * s.most;
    }
    return extent;
  };
  add(a);
  end += add(b);
  return Sum(std::move(steps)).may_be(end - begin_of(a));
}

std::vector<SharedMemory> shared_memory(const std::vector<const Tensor*>& tensors, const std::vector<size_t>& written) {
  std::vector<SharedMemory> found;
  for (const size_t w : written) {
    const Tensor& a = *tensors[w];
    if (!is_over_storage(a)) continue;
    const size_t before = found.size();
    bool any = false;
    for (size_t i = 0; i < tensors.size(); i++) {
      const Tensor& b = *tensors[i];
      if (i == w || !is_over_storage(b) || !a.is_alias_of(b)) continue;
      any = any || share_memory(a, b);
      found.push_back({w, i, begin_of(b) - begin_of(a)});
    }
    if (!any) found.resize(before);
  }
  return found;
}

}  // namespace cresset::graph
