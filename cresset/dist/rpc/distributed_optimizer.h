#pragma once
// An optimizer over parameters that live in several workers: each steps its own, with the gradients of a pass of distributed autograd.
//
//   // In each worker that owns parameters; functions do not travel, so that what makes an optimizer has a name:
//   register_optimizer("sgd", [](std::vector<Tensor> parameters) { return std::make_unique<optim::SGD>(std::move(parameters), 0.1); });
//   // In the one that trains:
//   DistributedOptimizer optimizer("sgd", {weight, bias});
//   autograd::Context pass;
//   autograd::backward(pass.id(), {loss});
//   optimizer.step(pass.id());

#include <map>
#include <memory>

#include "cresset/dist/rpc/autograd.h"
#include "cresset/optim/optimizer.h"

namespace cresset::distributed {

using OptimizerMaker = std::function<std::unique_ptr<optim::Optimizer>(std::vector<Tensor> parameters)>;

namespace detail {

// The optimizer of one worker's parameters.
class LocalOptimizer final : public dispatch::Object {
 public:
  LocalOptimizer(std::vector<Tensor> parameters, const OptimizerMaker& make) : parameters_(std::move(parameters)), optimizer_(make(parameters_)) {}
  const char* kind_name() const override { return "optimizer"; }

  // The gradients that the parameters have outside of the pass are theirs again afterwards.
  void step(int64_t context_id) {
    const auto gradients = autograd::get_gradients(context_id);
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<Tensor> before;
    for (Tensor& p : parameters_) {
      before.push_back(p.grad());
      p.mutable_grad() = Tensor();
      for (const auto& [leaf, gradient] : gradients) {
        if (leaf.is_same(p)) p.mutable_grad() = gradient;
      }
    }
    const auto restore = [&] {
      for (size_t i = 0; i < parameters_.size(); i++) parameters_[i].mutable_grad() = before[i];
    };
    try {
      optimizer_->step();
    } catch (...) {
      restore();
      throw;
    }
    restore();
  }

 private:
  std::mutex mutex_;
  std::vector<Tensor> parameters_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

inline std::map<std::string, OptimizerMaker>& optimizer_makers() {
  static std::map<std::string, OptimizerMaker> makers;
  return makers;
}

inline rpc::FuturePtr answered(rpc::Value value) {
  auto future = make_intrusive<rpc::Future>();
  future->markCompleted(std::move(value));
  return future;
}

inline rpc::FuturePtr make_local_optimizer(const rpc::Arguments& args) {
  const std::string name = args.at(0).to_string();
  const auto maker = optimizer_makers().find(name);
  CRESSET_CHECK_VALUE(maker != optimizer_makers().end(), "DistributedOptimizer: no optimizer is registered as '", name, "' in this worker");
  std::vector<Tensor> parameters;
  for (size_t i = 1; i < args.size(); i++) parameters.push_back(rpc::RRef::of(args[i]).local_value().toTensor());
  return answered(rpc::RRef(rpc::Value(intrusive_ptr<dispatch::Object>(make_intrusive<LocalOptimizer>(std::move(parameters), maker->second)))));
}

inline rpc::FuturePtr step_local_optimizer(const rpc::Arguments& args) {
  const rpc::Value local = rpc::RRef::of(args.at(0)).local_value();
  auto* optimizer = local.object() ? dynamic_cast<LocalOptimizer*>(local.object()->get()) : nullptr;
  CRESSET_CHECK_TYPE(optimizer, "DistributedOptimizer: expected a reference to an optimizer");
  optimizer->step(args.at(1).toInt());
  return answered({});
}

}  // namespace detail

// Lets this worker make optimizers of a name for its parameters. Before init_rpc, or before another worker asks for them.
inline void register_optimizer(const std::string& name, OptimizerMaker make) {
  detail::optimizer_makers()[name] = std::move(make);
  rpc::register_boxed("DistributedOptimizer.make", detail::make_local_optimizer);
  rpc::register_boxed("DistributedOptimizer.step", detail::step_local_optimizer);
}

class DistributedOptimizer {
 public:
  // `parameters`: references to tensors, of any workers, each of which has registered the name. Errors: ValueError for no parameters, those of the workers.
  DistributedOptimizer(const std::string& name, const std::vector<rpc::RRef>& parameters) {
    CRESSET_CHECK_VALUE(!parameters.empty(), "DistributedOptimizer: expected references to parameters, got none");
    std::map<std::string, rpc::Arguments> by_owner;
    for (const rpc::RRef& p : parameters) {
      rpc::Arguments& args = by_owner[p.owner().name_];
      if (args.empty()) args.emplace_back(name);
      args.emplace_back(p);
    }
    std::vector<rpc::FuturePtr> made;
    for (auto& [owner, args] : by_owner) made.push_back(rpc::rpc_async(owner, "DistributedOptimizer.make", args));
    for (const rpc::FuturePtr& one : made) local_.push_back(rpc::RRef::of(one->wait()));
  }

  // A step of all parameters with the gradients of a pass; those that none has reached stay. Errors: those of the workers, after all have answered.
  void step(int64_t context_id) {
    std::vector<rpc::FuturePtr> steps;
    for (const rpc::RRef& one : local_) steps.push_back(rpc::rpc_async(one.owner().name_, "DistributedOptimizer.step", {one, rpc::Value(context_id)}));
    std::exception_ptr error;
    for (const rpc::FuturePtr& step : steps) {
      try {
        step->wait();
      } catch (...) {
        if (!error) error = std::current_exception();
      }
    }
    if (error) std::rethrow_exception(error);
  }

 private:
  std::vector<rpc::RRef> local_;
};

}  // namespace cresset::distributed
