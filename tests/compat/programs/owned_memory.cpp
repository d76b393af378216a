// Notes of backends on tensors, memory, identities of values, nodes and containers in LibTorch names, and the words of errors that programs look for.
#include <ATen/core/ivalue.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/util/SmallVector.h>
#include <c10/util/accumulate.h>
#include <torch/torch.h>

#include <iostream>
#include <unordered_set>

#include "expect.h"

namespace {

template <class F> std::string message_of(F&& f) {
  try {
    f();
  } catch (const std::exception& e) { return e.what(); }
  return "no error";
}
template <class F> bool says(F&& f, const std::string& words) {
  const std::string text = message_of(f);
  if (text.find(words) == std::string::npos) std::cerr << "got: " << text << '\n';
  return text.find(words) != std::string::npos;
}

struct Note : c10::BackendMeta {
  mutable int clones = 0;
  c10::intrusive_ptr<c10::BackendMeta> clone(const c10::intrusive_ptr<c10::BackendMeta>& self) const override {
    clones++;
    return c10::BackendMeta::clone(self);
  }
};

void memory() {
  const torch::Tensor x = torch::ones({2});
  CHECK_THAT(x.unsafeGetTensorImpl()->get_backend_meta() == nullptr);
  const c10::intrusive_ptr<c10::BackendMeta> note{std::unique_ptr<c10::BackendMeta>(new Note())};
  x.unsafeGetTensorImpl()->set_backend_meta(note);
  torch::Tensor y = torch::zeros({1});
  y.unsafeGetTensorImpl()->shallow_copy_from(x.getIntrusivePtr());
  CHECK_THAT(y.unsafeGetTensorImpl()->get_backend_meta_intrusive_ptr() == note);
  CHECK_THAT(x.detach().unsafeGetTensorImpl()->get_backend_meta() == note.get());
  CHECK_THAT(dynamic_cast<Note*>(note.get())->clones == 2);

  c10::Allocator* allocator = c10::GetCPUAllocator();
  auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), 8, allocator->allocate(8), allocator, true);
  const at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(storage, c10::DispatchKeySet(c10::DispatchKey::CPU), caffe2::TypeMeta::Make<float>());
  CHECK_THAT(made.storage().nbytes() == 8 && made.unsafeGetTensorImpl()->key_set().has(c10::DispatchKey::CPU));
  CHECK_THAT(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), 16)->nbytes() == 16);
  const auto bytes = [&](size_t n, bool resizable) {
    return c10::Storage(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), n, c10::GetDefaultCPUAllocator(), resizable));
  };
  const c10::Storage empty = bytes(0, true), fixed = bytes(8, false);
  const at::Tensor grown = at::empty({0}).set_(empty);
  at::ones_out(const_cast<at::Tensor&>(grown), {3});
  CHECK_THAT(empty.resizable() && empty.nbytes() == 12 && static_cast<const float*>(empty.data())[2] == 1);
  CHECK_THAT(!fixed.resizable() && !bytes(0, false).resizable() && bytes(8, true).resizable());
  CHECK_THAT(message_of([&] { at::empty({0}).set_(fixed).resize_({3}); }) != "no error" && fixed.nbytes() == 8);

  CHECK_THAT(torch::TensorOptions({torch::kCPU, 0}).device() == torch::Device("cpu:0"));
  CHECK_THAT(x.toString() == "CPUFloatType" && torch::Tensor().toString() == "UndefinedType");
  CHECK_THAT(!c10::DispatchKeySet().has(c10::DispatchKey::StartOfDenseBackends));
  const c10::SmallVector<int, 2> few = {1, 2, 3};
  CHECK_THAT(c10::makeArrayRef(few).equals({1, 2, 3}));
  const std::vector<int> sizes = {2, 3};
  CHECK_THAT(message_of([&] { c10::numelements_to_dim(-1, sizes); }) != "no error" &&
             message_of([&] { c10::numelements_between_dim(1, 9, sizes); }) != "no error");
  CHECK_THAT(c10::numelements_from_dim(9, sizes) == 1);
}

struct Counted : c10::intrusive_ptr_target {};
struct Named : Counted {
  int name = 3;
};

void pointers() {
  auto named = c10::make_intrusive<Named>();
  c10::intrusive_ptr<Counted> base = named;
  CHECK_THAT(c10::static_intrusive_pointer_cast<Named>(base)->name == 3 && c10::dynamic_intrusive_pointer_cast<Named>(base) == named);
  CHECK_THAT(!c10::dynamic_intrusive_pointer_cast<Named>(c10::make_intrusive<Counted>()) && named.use_count() == 2);
  CHECK_THAT(c10::dynamic_intrusive_pointer_cast<Named>(std::move(base)) == named && !base);
  CHECK_THAT(named.use_count() == 1);

  namespace raw = c10::raw;
  raw::intrusive_ptr::incref(named.get());
  CHECK_THAT(raw::intrusive_ptr::use_count(named.get()) == 2);
  Named* weak = raw::intrusive_ptr::make_weak(named.get());
  raw::weak_intrusive_ptr::incref(weak);
  CHECK_THAT(raw::weak_intrusive_ptr::use_count(weak) == 3 && raw::weak_intrusive_ptr::lock(weak) == weak && named.use_count() == 3);
  raw::intrusive_ptr::decref(named.get());
  raw::intrusive_ptr::decref(named.get());
  raw::weak_intrusive_ptr::decref(weak);
  named.reset();
  CHECK_THAT(!raw::weak_intrusive_ptr::lock(weak) && raw::intrusive_ptr::use_count(weak) == 0);
  raw::weak_intrusive_ptr::decref(weak);
}

void values() {
  const torch::Tensor a = torch::ones({2}), b = a, other = a.detach();
  const c10::IValue::CompIdentityIValues same;
  CHECK_THAT(same(a, b) && !same(a, other));
  std::unordered_set<c10::IValue, c10::IValue::HashIdentityIValue, c10::IValue::CompIdentityIValues> seen;
  for (const torch::Tensor& t : {a, b, other}) seen.insert(t);
  CHECK_THAT(seen.size() == 2);
  CHECK_THAT(c10::IValue(a).isPtrType() && c10::IValue(a).internalToPointer() == a.unsafeGetTensorImpl() && !c10::IValue(3).isPtrType());
  CHECK_THAT(message_of([] { c10::IValue(3).internalToPointer(); }) != "no error");

  std::string kinds;
  for (const c10::IValue& v :
       std::vector<c10::IValue>{c10::IValue(), a, 1, 2.5, true, c10::complex<double>(1, 2), "text", c10::Device("cpu"), std::vector<int64_t>{1},
                                std::vector<at::Tensor>{a}, std::make_tuple(1, a), c10::Dict<std::string, int64_t>(), a.storage()})
    kinds += v.tagKind() + ' ';
  CHECK_THAT(kinds == "None Tensor Int Double Bool ComplexDouble String Device GenericList GenericList Tuple GenericDict Storage ");
}

void nodes() {
  const torch::Tensor x = torch::ones({2}, torch::requires_grad());
  std::shared_ptr<torch::autograd::Node> node;
  {
    const torch::Tensor y = x.exp();
    node = y.grad_fn();
  }
  CHECK_THAT(node && node->name() == "ExpBackward0");
  const std::shared_ptr<torch::autograd::Node> none = x.grad_fn();
  CHECK_THAT(!none);

  torch::Tensor made, view, base = torch::ones({2}, torch::requires_grad()).clone();
  {
    c10::InferenceMode guard;
    made = torch::ones({2});
    made.unsafeGetTensorImpl()->bump_version();
    view = base.view({1, 2});
  }
  CHECK_THAT(says([&] { made.unsafeGetTensorImpl()->bump_version(); }, "Inplace update to inference tensor outside InferenceMode is not allowed"));
  torch::Tensor again;
  {
    torch::NoGradGuard guard;
    again = view.view({2});
  }
  CHECK_THAT(says([&] { again.add_(1); }, "A view was created in inference mode and is being modified inplace"));
}

struct Takes : torch::nn::Module {
  int64_t forward(float x) { return static_cast<int64_t>(x); }
};
struct Other : torch::nn::Module {
  int64_t forward(float) { return 0; }
};

void words() {
  torch::nn::AnyModule any(Takes{}), empty;
  CHECK_THAT(says([&] { any.forward<int64_t>(5.0); }, "Expected argument #0 to be of type float, but received value of type double"));
  CHECK_THAT(says([&] { any.forward<int64_t>(); }, "'s forward() method expects 1 argument(s), but received 0. If "));
  CHECK_THAT(says([&] { any.get<Other>(); }, "Attempted to cast module"));
  CHECK_THAT(says([&] { empty.ptr(); }, "Cannot call ptr() on an empty AnyModule"));
  CHECK_THAT(says([&] { empty.forward<int>(5); }, "Cannot call forward() on an empty AnyModule"));
  CHECK_THAT(says([] { torch::detail::TensorDataContainer(1).init_list(); }, "Can only call `init_list()` on a TensorDataContainer"));
  CHECK_THAT(says([] { torch::tensor(c10::complex<float>(1, 2), torch::kFloat); }, "value cannot be converted to type float without overflow"));
  CHECK_THAT(torch::tensor(c10::complex<float>(1, 0), torch::kFloat).item<float>() == 1);
  CHECK_THAT(torch::ones({1}).to(at::TensorOptions().requires_grad(false)).item<float>() == 1);
  CHECK_THAT(says([] { torch::ones({1}).to(at::TensorOptions().requires_grad(true)); }, "requires_grad"));
  CHECK_THAT(says([] { torch::ExpandingArray<2>(std::vector<int64_t>{1, 2, 3}); }, "Expected 2 values, but instead got 3"));
  CHECK_THAT(says([] { torch::nn::ParameterList()->at(3); }, "Index out of range"));
  CHECK_THAT(says(
      [] {
        torch::nn::Fold(torch::nn::FoldOptions(4, 2))(torch::ones({1, 1, 4, 4}));
      },
      "Only unbatched (2D) or batched (3D) input Tensors are supported (got 4D)"));
  CHECK_THAT(says(
      [] {
        torch::nn::Unfold(torch::nn::UnfoldOptions({2, 3}))(torch::ones({1, 2, 2, 2}));
      },
      "kernel_size=(2, 3), dilation=(1, 1), padding=(0, 0), calculated shape of the array of sliding blocks as (1, 0)"));
  CHECK_THAT(says([] { torch::nn::GRUCell(1, 2)(torch::ones({3, 1}), torch::ones({3, 1})); }, "hidden0 has inconsistent hidden_size: got 1, expected 2"));
  CHECK_THAT(says(
      [] {
        torch::nn::LSTMCell(1, 2)(torch::ones({3, 1}), std::make_tuple(torch::ones({3, 2}), torch::ones({1, 1, 1})));
      },
      "Expected hx[1] to be 1D or 2D, got 3D instead"));
}

}  // namespace

int main() {
  memory();
  pointers();
  values();
  nodes();
  words();
  if (failures == 0) std::cout << "ok\n";
  return failures;
}
