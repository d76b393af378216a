#pragma once
// A module whose gradients are the averages over the ranks of a group.

#include "cresset/dist/ddp/reducer.h"
#include "cresset/nn/module/module.h"

namespace cresset::nn {

struct DistributedDataParallelOptions : distributed::ReducerOptions {
  bool broadcast_buffers = true;  // those of rank 0, before every forward
  bool init_sync = true;          // parameters and buffers begin as those of rank 0
};

// Wraps a module holder or a shared pointer to a module: `net(x)` is its forward; backward averages while it runs.
//   nn::DistributedDataParallel net(model, group);
//   loss(net(x), y).backward();
template <class M> class DistributedDataParallel {
 public:
  explicit DistributedDataParallel(M module, intrusive_ptr<distributed::ProcessGroup> group, DistributedDataParallelOptions options = {})
      : module_(std::move(module)), group_(std::move(group)), broadcast_buffers_(options.broadcast_buffers) {
    distributed::Tensors learned, all;
    std::vector<std::string> names;
    for (const auto& p : module_->named_parameters()) {
      all.push_back(p.value());
      if (!p.value().requires_grad()) continue;
      learned.push_back(p.value());
      names.push_back(p.key());
    }
    for (const Tensor& p : all)
      if (!p.requires_grad()) options.frozen.push_back(p);
    param_dtype_ = options.mixed_precision.param_dtype;
    distributed::Reducer::verify_parameters(*group_, learned);
    for (const auto& b : module_->named_buffers()) buffers_.push_back(b.value());
    if (options.init_sync) {
      distributed::broadcast_coalesced(*group_, all);
      distributed::broadcast_coalesced(*group_, buffers_);
    }
    distributed::cast_in_place(buffers_, options.mixed_precision.buffer_dtype);
    reducer_ = std::make_unique<distributed::Reducer>(std::move(learned), std::move(names), group_, std::move(options));
  }

  template <class... Arguments> auto forward(Arguments&&... arguments) {
    if (broadcast_buffers_ && averages_ && !buffers_.empty()) distributed::broadcast_coalesced(*group_, buffers_);
    reducer_->prepare_for_forward();
    auto result = [&] {
      try {
        return module_->forward(input(std::forward<Arguments>(arguments))...);
      } catch (...) {
        reducer_->restore_parameters();
        throw;
      }
    }();
    if (GradMode::is_enabled() && averages_) reducer_->prepare_for_backward(tensors_of(result));
    else reducer_->skip_next_backward();
    return result;
  }
  template <class... Arguments> auto operator()(Arguments&&... arguments) { return forward(std::forward<Arguments>(arguments)...); }

  // Runs `f`; the backward passes of forwards within it add up in each rank alone.
  template <class F> auto no_sync(F&& f) {
    struct Restored {
      bool& flag;
      const bool before = std::exchange(flag, false);
      ~Restored() { flag = before; }
    } restored{averages_};
    return f();
  }

  M& module() { return module_; }
  distributed::Reducer& reducer() { return *reducer_; }

 private:
  template <class T> decltype(auto) input(T&& argument) const {
    if constexpr (std::is_same_v<std::decay_t<T>, Tensor>) return distributed::in_dtype(argument, param_dtype_);
    else return std::forward<T>(argument);
  }
  static distributed::Tensors tensors_of(const Tensor& t) { return {t}; }
  static distributed::Tensors tensors_of(const std::vector<Tensor>& list) { return list; }
  template <class... T> static distributed::Tensors tensors_of(const std::tuple<T...>& parts) {
    distributed::Tensors all;
    std::apply([&](const auto&... part) { (add(all, tensors_of(part)), ...); }, parts);
    return all;
  }
  static void add(distributed::Tensors& all, const distributed::Tensors& more) { all.insert(all.end(), more.begin(), more.end()); }

  M module_;
  const intrusive_ptr<distributed::ProcessGroup> group_;
  const bool broadcast_buffers_;
  std::optional<ScalarType> param_dtype_;
  bool averages_ = true;
  distributed::Tensors buffers_;
  std::unique_ptr<distributed::Reducer> reducer_;
};

}  // namespace cresset::nn
