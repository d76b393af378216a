#pragma once
// ZeRO, stage 1 (Rajbhandari et al. 2020): each rank keeps the states of its share of the parameters, steps those, and sends them to the others.

#include <algorithm>
#include <numeric>

#include "cresset/dist/ddp/reducer.h"
#include "cresset/optim/optimizer.h"

namespace cresset::optim {

// The numbers of the parameters of each rank: the largest go first, each to the rank that has least so far. The same on all ranks.
inline std::vector<std::vector<size_t>> shares_of(const std::vector<Tensor>& parameters, int ranks) {
  std::vector<size_t> order(parameters.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return parameters[a].numel() > parameters[b].numel(); });
  std::vector<std::vector<size_t>> shares(static_cast<size_t>(ranks));
  std::vector<int64_t> sizes(shares.size());
  for (const size_t i : order) {
    const auto rank = static_cast<size_t>(std::min_element(sizes.begin(), sizes.end()) - sizes.begin());
    shares[rank].push_back(i);
    sizes[rank] += parameters[i].numel();
  }
  return shares;
}

// An optimizer of any kind over a rank's share; a step is that of the plain optimizer, to the bit.
//   optim::ZeroRedundancyOptimizer<optim::Adam> optimizer(net->parameters(), group, optim::AdamOptions(1e-3));
template <class Kind> class ZeroRedundancyOptimizer {
 public:
  // Errors: ValueError for no parameters, and for fewer than there are ranks.
  template <class Options> ZeroRedundancyOptimizer(std::vector<Tensor> parameters, intrusive_ptr<distributed::ProcessGroup> group, Options options)
      : parameters_(std::move(parameters)), group_(std::move(group)) {
    CRESSET_CHECK_VALUE(group_, "ZeroRedundancyOptimizer: expected a process group, got none");
    CRESSET_CHECK_VALUE(parameters_.size() >= static_cast<size_t>(group_->getSize()), "ZeroRedundancyOptimizer: expected at least one parameter for each of ",
                        group_->getSize(), " ranks, got ", parameters_.size());
    for (const auto& numbers : shares_of(parameters_, group_->getSize())) {
      shares_.emplace_back();
      for (const size_t i : numbers) shares_.back().push_back(parameters_[i]);
    }
    local_ = std::make_unique<Kind>(shares_[static_cast<size_t>(group_->getRank())], std::move(options));
  }

  // All ranks call it. Errors: those of the group.
  Tensor step(Optimizer::LossClosure closure = nullptr) {
    Tensor loss = local_->step(std::move(closure));
    for (size_t rank = 0; rank < shares_.size(); rank++) distributed::broadcast_coalesced(*group_, shares_[rank], static_cast<int64_t>(rank));
    return loss;
  }
  void zero_grad(bool set_to_none = true) {
    for (Tensor& p : parameters_) {
      if (set_to_none) p.mutable_grad() = Tensor();
      else if (p.grad().defined()) p.mutable_grad().zero_();
    }
  }
  // The optimizer of this rank's share: its options may be changed, and its states saved.
  Kind& local() { return *local_; }
  const std::vector<std::vector<Tensor>>& shares() const { return shares_; }

 private:
  std::vector<Tensor> parameters_;
  const intrusive_ptr<distributed::ProcessGroup> group_;
  std::vector<std::vector<Tensor>> shares_;
  std::unique_ptr<Kind> local_;
};

}  // namespace cresset::optim
