#pragma once
// Pruning: masks on parameters, applied before every call of the module. (Python: torch.nn.utils.prune.)
//
// A pruned `weight` is computed from the parameter `weight_orig` and the buffer `weight_mask` where the module is called, by its holder or in a
// container. A pruned module has no clone(); its state is saved and loaded like any other.

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cresset/nn/module/members.h"

namespace cresset::nn::utils::prune {

// How many elements: an integer says their number, another number their share.
class Amount {
 public:
  template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value && !std::is_same<T, bool>::value>> Amount(T amount)
      : value_(static_cast<double>(amount)), is_share_(std::is_floating_point<T>::value) {}
  // Errors: negative, a share above 1, more than there are.
  CRESSET_API int64_t of(int64_t size) const;
  CRESSET_API void check() const;

 private:
  double value_;
  bool is_share_;
};

enum class PruningType : uint8_t { unstructured, structured, global };

// A way to prune. Classes of your own define compute_mask and their kind.
class CRESSET_API BasePruningMethod {
 public:
  virtual ~BasePruningMethod();
  // The new mask of a tensor, given the one it has.
  virtual Tensor compute_mask(const Tensor& t, const Tensor& default_mask) = 0;
  virtual PruningType pruning_type() const = 0;
  // The dimension that structured methods prune along.
  virtual int64_t pruned_dim() const { return 0; }

  // A pruned copy of a tensor. Errors: scores of another shape.
  Tensor prune(const Tensor& t, const Tensor& default_mask = {}, const Tensor& importance_scores = {});
  // The tensor of a module times its mask. Errors: it was not pruned.
  Tensor apply_mask(Module& module) const;
  const std::string& tensor_name() const { return tensor_name_; }
  void set_tensor_name(std::string name) { tensor_name_ = std::move(name); }

  // Prunes by Method(args...): BasePruningMethod::apply<L1Unstructured>(layer, "weight", 3). Returns the method, or all of this tensor.
  template <class Method, class M, class... Args> static std::shared_ptr<BasePruningMethod> apply(M& module, const std::string& name, Args&&... args);

 private:
  std::string tensor_name_;
};

// Several ways to prune one tensor, one after the other; each sees what the ones before have left.
class CRESSET_API PruningContainer : public BasePruningMethod {
 public:
  PruningContainer() = default;
  explicit PruningContainer(std::vector<std::shared_ptr<BasePruningMethod>> methods);
  // Errors: null; a method of another tensor.
  void add_pruning_method(std::shared_ptr<BasePruningMethod> method);
  size_t size() const { return methods_.size(); }
  const std::shared_ptr<BasePruningMethod>& operator[](size_t index) const { return methods_.at(index); }
  auto begin() const { return methods_.begin(); }
  auto end() const { return methods_.end(); }
  // That of the last method on what the mask has left.
  Tensor compute_mask(const Tensor& t, const Tensor& default_mask) override;
  PruningType pruning_type() const override { return PruningType::global; }

 private:
  std::vector<std::shared_ptr<BasePruningMethod>> methods_;
};

// Prunes nothing, and sets up the mask.
class CRESSET_API Identity : public BasePruningMethod {
 public:
  Tensor compute_mask(const Tensor&, const Tensor& default_mask) override { return default_mask; }
  PruningType pruning_type() const override { return PruningType::unstructured; }
};
// Elements at random.
class CRESSET_API RandomUnstructured : public BasePruningMethod {
 public:
  explicit RandomUnstructured(Amount amount) : amount_(amount) { amount_.check(); }
  Tensor compute_mask(const Tensor& t, const Tensor& default_mask) override;
  PruningType pruning_type() const override { return PruningType::unstructured; }

 protected:
  virtual Tensor scores(const Tensor& t) const;

 private:
  Amount amount_;
};
// The elements nearest to zero.
class CRESSET_API L1Unstructured : public RandomUnstructured {
 public:
  using RandomUnstructured::RandomUnstructured;

 protected:
  Tensor scores(const Tensor& t) const override;
};
// Indices of dimension `dim` at random. Errors of compute_mask: fewer than two dimensions; one out of range.
class CRESSET_API RandomStructured : public BasePruningMethod {
 public:
  explicit RandomStructured(Amount amount, int64_t dim = -1) : amount_(amount), dim_(dim) { amount_.check(); }
  Tensor compute_mask(const Tensor& t, const Tensor& default_mask) override;
  PruningType pruning_type() const override { return PruningType::structured; }
  int64_t pruned_dim() const override { return dim_; }

 protected:
  virtual Tensor scores(const Tensor& t, int64_t dim) const;

 private:
  Amount amount_;
  int64_t dim_;
};
// The indices of dimension `dim` with the smallest norms of order `n`.
class CRESSET_API LnStructured : public RandomStructured {
 public:
  LnStructured(Amount amount, double n, int64_t dim = -1) : RandomStructured(amount, dim), n_(n) {}

 protected:
  Tensor scores(const Tensor& t, int64_t dim) const override;

 private:
  double n_;
};
// Prunes by a given mask. Errors of compute_mask: another shape.
class CRESSET_API CustomFromMask : public BasePruningMethod {
 public:
  explicit CustomFromMask(Tensor mask) : mask_(std::move(mask)) {}
  Tensor compute_mask(const Tensor& t, const Tensor& default_mask) override;
  PruningType pruning_type() const override { return PruningType::global; }

 private:
  Tensor mask_;
};

namespace detail {
CRESSET_API std::shared_ptr<BasePruningMethod> apply(Module& module, Tensor* member, const std::string& name, std::shared_ptr<BasePruningMethod> method,
                                                     const Tensor& importance_scores = {});
CRESSET_API void remove(Module& module, const std::string& name);
template <class M> M& apply_to(M& module, const std::string& name, std::shared_ptr<BasePruningMethod> method, const Tensor& importance_scores = {}) {
  auto& own = nn::detail::module_of(module);
  apply(own, nn::detail::member_of(own, name), name, std::move(method), importance_scores);
  return module;
}
}  // namespace detail

template <class Method, class M, class... Args>
std::shared_ptr<BasePruningMethod> BasePruningMethod::apply(M& module, const std::string& name, Args&&... args) {
  auto& own = nn::detail::module_of(module);
  return detail::apply(own, nn::detail::member_of(own, name), name, std::make_shared<Method>(std::forward<Args>(args)...));
}

// These return the module. A tensor pruned before combines its masks. Errors: no parameter of that name; scores of another shape; amounts
// that do not fit.
template <class M> M& identity(M& module, const std::string& name) { return detail::apply_to(module, name, std::make_shared<Identity>()); }
template <class M> M& random_unstructured(M& module, const std::string& name, Amount amount) {
  return detail::apply_to(module, name, std::make_shared<RandomUnstructured>(amount));
}
template <class M> M& l1_unstructured(M& module, const std::string& name, Amount amount, const Tensor& importance_scores = {}) {
  return detail::apply_to(module, name, std::make_shared<L1Unstructured>(amount), importance_scores);
}
template <class M> M& random_structured(M& module, const std::string& name, Amount amount, int64_t dim) {
  return detail::apply_to(module, name, std::make_shared<RandomStructured>(amount, dim));
}
template <class M> M& ln_structured(M& module, const std::string& name, Amount amount, double n, int64_t dim, const Tensor& importance_scores = {}) {
  return detail::apply_to(module, name, std::make_shared<LnStructured>(amount, n, dim), importance_scores);
}
template <class M> M& custom_from_mask(M& module, const std::string& name, const Tensor& mask) {
  return detail::apply_to(module, name, std::make_shared<CustomFromMask>(mask));
}

// A tensor of a module, for global_unstructured: {layer, "weight"}.
struct Target {
  template <class Held> Target(const Held& held, std::string tensor) : Target(nn::detail::module_of(held), std::move(tensor), nullptr) {}
  template <class M> Target(M& m, std::string tensor, std::nullptr_t) : module(&m), member(nn::detail::member_of(m, tensor)), name(std::move(tensor)) {}
  Module* module;
  Tensor* member;
  std::string name;
};
// Prunes tensors as if they were one; scores, where given, are one for each tensor, undefined for its values. Errors: a method that is not
// unstructured.
CRESSET_API void global_unstructured(const std::vector<Target>& parameters, BasePruningMethod&& method, const std::vector<Tensor>& importance_scores = {});

// Makes a pruned tensor an ordinary parameter again, pruned for good. Errors: it was not pruned.
template <class M> M& remove(M& module, const std::string& name) {
  detail::remove(nn::detail::module_of(module), name);
  return module;
}
// Whether a module or one below it is pruned.
CRESSET_API bool is_pruned(const Module& module);
template <class M> bool is_pruned(const ModuleHolder<M>& module) { return is_pruned(static_cast<const Module&>(*module)); }

}  // namespace cresset::nn::utils::prune
