#include "cresset/transform/fake.h"

#include "cresset/core/sparse.h"
#include "cresset/ops/functions.h"

namespace cresset {

intrusive_ptr<FakeMode> make_fake_mode(bool allow_non_fake_inputs) { return make_intrusive<FakeMode>(allow_non_fake_inputs); }

intrusive_ptr<FakeMode> fake_mode_of(const Tensor& t) { return t.defined() ? intrusive_ptr<FakeMode>::share(mode_of_fake(*t.impl())) : nullptr; }

namespace {

Tensor made_like(FakeMode& mode, const Tensor& t) {
  Tensor fake(mode.fake_of(*t.impl()));
  if (SymbolicShapes* const shapes = is_fake(t) ? mode.shapes() : nullptr) shapes->made(intrusive_ptr<TensorImpl>::share(fake.impl()));
  if (!t.requires_grad()) return fake;
  fake.requires_grad_();
  if (t.is_leaf()) return fake;
  const FakeModeScope scope(&mode);
  return is_sparse(t.layout()) ? fake.clone() : fake.view_as(fake);  // has a history, as `t` has
}

}  // namespace

Tensor fake_like(FakeMode& mode, const Tensor& t) {
  CRESSET_CHECK(t.defined(), "fake_like: the input is an undefined tensor");
  if (const intrusive_ptr<FakeMode> own = fake_mode_of(t)) {
    if (own.get() == &mode) return t;
    CRESSET_CHECK_AS(MixedFakeError, own->shapes() == mode.shapes(), "Mixing fake modes NYI: fake_like got ", t,
                     " of another mode, whose sizes are symbols of another ShapeEnv");
  }
  CRESSET_CHECK_NOT_IMPLEMENTED(t.layout() != Layout::Mkldnn, "fake_like: layout ", t.layout(), " has no fake tensors");
  CRESSET_CHECK_NOT_IMPLEMENTED(t.has_storage() || is_sparse(t.layout()),
                                "fake_like: a wrapper of vmap or functionalize has no fake tensor; make one of its value");
  const Tensor fake(mode.remembered(intrusive_ptr<TensorImpl>::share(t.impl()), [&] {
    const Tensor made = made_like(mode, t);
    return intrusive_ptr<TensorImpl>::share(made.impl());
  }));
  if (t.is_leaf() && t.requires_grad() && t.grad().defined() && !fake.grad().defined()) fake.mutable_grad() = fake_like(mode, t.grad());
  return fake;
}

Tensor fake_on(FakeMode& mode, const Tensor& meta, Device device) {
  CRESSET_CHECK(meta.is_meta(), "fake_on: expected a tensor on the meta device, got one on ", meta.device());
  const FakeModeScope scope(&mode);
  if (is_sparse(meta.layout())) return Tensor(mode.fake_of(*meta.impl())).to(device);
  return cresset::empty_strided(meta.sizes(), meta.strides(), TensorOptions(meta.scalar_type()).device(device));
}

}  // namespace cresset
