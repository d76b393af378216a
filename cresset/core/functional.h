#pragma once
// A tensor whose changes in place are made into new values: what functions see under functionalize.

#include "cresset/core/tensor.h"

namespace cresset {

// State that a wrapper and its views share. Views know how they come from the base, and look again when it has changed.
struct CRESSET_API FunctionalBase final : RefCounted {
  explicit FunctionalBase(Tensor v) : value(std::move(v)) {}
  // The value from now on.
  void take(Tensor v);
  Tensor value;
  uint64_t changes = 0, hidden = 0, unrecorded = 0;  // of the changes: those that autograd is not to know of, and those made with gradients off

 protected:
  void release_resources() override { value.reset(); }
};

class CRESSET_API FunctionalImpl final : public TensorImpl {
 public:
  // A step from a tensor to a view of it, and the way back: what a tensor becomes when its view has another value. Without one the view, which `look` may
  // copy, is written in a copy of the tensor.
  struct View {
    using Look = std::function<Tensor(const Tensor&)>;
    using Put = std::function<Tensor(const Tensor& whole, const Tensor& part)>;
    template <class F, class = std::enable_if_t<std::is_invocable_r_v<Tensor, F&, const Tensor&> && !std::is_same_v<F, View>>> View(F l, Put p = nullptr)
        : look(std::move(l)), view(look), put(std::move(p)) {}
    Look look, view;
    Put put;
    Tensor operator()(const Tensor& t) const { return look(t); }
  };
  // A tensor of its own, or a view of one: `views` lead from the base to `value`.
  FunctionalImpl(intrusive_ptr<FunctionalBase> base, std::vector<View> views, Tensor value);
  // The value, after all changes up to now.
  const Tensor& value();
  // The value as it was last seen: what views are made of, which look again when they are used.
  const Tensor& last_value() const { return value_; }
  const intrusive_ptr<FunctionalBase>& base() const { return base_; }
  const std::vector<View>& views() const { return views_; }
  // The value from now on, for a tensor that is no view.
  void set_value(Tensor value);
  // Takes the place of another view of the same base.
  void become(const FunctionalImpl& other);
  // Has these strides from now on, whatever those of its value are: for a view whose value is a copy.
  void keep_strides(IntArrayRef strides);
  // A new base whose part that is this view has been written has come about.
  void set_base(Tensor base);

 protected:
  void release_resources() override;

 private:
  CRESSET_LOCAL void follow(const Tensor& value);

  intrusive_ptr<FunctionalBase> base_;
  std::vector<View> views_;
  Tensor value_;
  uint64_t seen_ = 0;
  bool keeps_strides_ = false;
};

CRESSET_API FunctionalImpl* as_functional_slow(const TensorImpl& t);
// The wrapper that `t` is, or null.
inline FunctionalImpl* as_functional(const Tensor& t) {
  return CRESSET_UNLIKELY(t.defined() && (t.impl()->layers() & layer_bit(Layer::Functionalize))) ? as_functional_slow(*t.impl()) : nullptr;
}

}  // namespace cresset
