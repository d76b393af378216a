// Guards of devices and streams, DLPack, names of dimensions, notes on errors, functions as types.
#include <ATen/ATen.h>
#include <ATen/DLConvertor.h>
#include <ATen/Dimname.h>
#include <ATen/ScalarOps.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/FakeGuardImpl.h>
#include <c10/core/impl/InlineDeviceGuard.h>
#include <c10/core/impl/InlineStreamGuard.h>
#include <c10/util/DeadlockDetection.h>
#include <torch/library.h>

#include <iostream>

namespace {

int failures = 0;
void check(bool ok, const char* what) {
  if (ok) return;
  failures++;
  std::cerr << "not so: " << what << '\n';
}
#define CHECK_THAT(condition) check(condition, #condition)

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const c10::Error& e) { return e.what(); }
  return "";
}

using Fake = c10::impl::FakeGuardImpl<c10::DeviceType::CUDA>;
c10::Device gpu(c10::DeviceIndex i) { return {c10::DeviceType::CUDA, i}; }
c10::Stream queue(c10::DeviceIndex i, c10::StreamId id) { return c10::Stream(c10::Stream::UNSAFE, gpu(i), id); }

void guards() {
  Fake::setDeviceIndex(0);
  {
    c10::impl::InlineDeviceGuard<Fake> guard(gpu(1));
    CHECK_THAT(Fake::getDeviceIndex() == 1 && guard.original_device() == gpu(0) && guard.current_device() == gpu(1));
    guard.set_index(2);
    CHECK_THAT(Fake::getDeviceIndex() == 2 && guard.original_device() == gpu(0));
    Fake::setDeviceIndex(4);
  }
  CHECK_THAT(Fake::getDeviceIndex() == 0);
  {
    const c10::impl::InlineDeviceGuard<Fake> same(gpu(-1));
    CHECK_THAT(same.current_device() == gpu(0));
    c10::impl::InlineOptionalDeviceGuard<Fake> maybe;
    CHECK_THAT(!maybe.original_device() && !maybe.current_device());
    maybe.set_device(gpu(3));
    CHECK_THAT(maybe.original_device() == gpu(0) && Fake::getDeviceIndex() == 3);
  }
  CHECK_THAT(Fake::getDeviceIndex() == 0);
  CHECK_THAT(!message_of([] { c10::impl::InlineDeviceGuard<Fake> guard(c10::Device(c10::DeviceType::Meta, 1)); }).empty());

  const Fake cuda;
  const c10::impl::FakeGuardImpl<c10::DeviceType::Meta> hip;
  {
    c10::OptionalDeviceGuard guard;
    guard.reset_device(gpu(1), &cuda);
    guard.reset_device(c10::Device(c10::DeviceType::Meta, 2), &hip);
    CHECK_THAT(Fake::getDeviceIndex() == 0 && guard.current_device() == c10::Device(c10::DeviceType::Meta, 2));
    CHECK_THAT(guard.original_device() == c10::Device(c10::DeviceType::Meta, 0));
  }

  Fake::resetStreams();
  {
    c10::impl::InlineStreamGuard<Fake> guard(queue(1, 2));
    CHECK_THAT(Fake::getDeviceIndex() == 1 && Fake::getCurrentStreamIdFor(1) == 2 && guard.original_stream() == queue(0, 0));
    guard.reset_stream(queue(2, 3));
    CHECK_THAT(Fake::getDeviceIndex() == 2 && Fake::getCurrentStreamIdFor(1) == 0 && Fake::getCurrentStreamIdFor(2) == 3 &&
               guard.current_stream() == queue(2, 3));
  }
  CHECK_THAT(Fake::getDeviceIndex() == 0 && Fake::getCurrentStreamIdFor(2) == 0);
  const at::OptionalDeviceGuard of_tensor(at::device_of(at::ones(1)));
  CHECK_THAT(of_tensor.current_device()->is_cpu());
  CHECK_THAT(!message_of([] { c10::DeviceGuard guard(gpu(0)); }).empty());
}

void exchange() {
  const at::Tensor a = at::rand({3, 4});
  DLManagedTensor* managed = at::toDLPack(a.t());
  CHECK_THAT(managed->dl_tensor.shape[0] == 4 && managed->dl_tensor.strides[0] == 1 && managed->dl_tensor.dtype.code == kDLFloat);
  CHECK_THAT(at::fromDLPack(managed).equal(a.t()));
  DLManagedTensorVersioned* versioned = at::toDLPackVersioned(a);
  versioned->dl_tensor.strides = nullptr;
  CHECK_THAT(versioned->version.major == 1 && at::fromDLPackVersioned(versioned).equal(a));
  bool gone = false;
  DLManagedTensor* watched = at::toDLPack(a);
  {
    const at::Tensor b = at::fromDLPack(watched, [&](void*) {
      gone = true;
      watched->deleter(watched);
    });
    CHECK_THAT(b.data_ptr() == a.data_ptr() && !gone);
  }
  CHECK_THAT(gone && !message_of([] { at::toDLPack(at::empty({1}, at::kMeta)); }).empty());
}

void names() {
  const auto foo = at::Dimname::fromSymbol(at::Symbol::dimname("foo"));
  CHECK_THAT(foo.type() == at::NameType::BASIC && foo.matches(at::Dimname::wildcard()) &&
             *at::Dimname::wildcard().unify(foo) == foo);
  CHECK_THAT(!foo.unify(at::Dimname::fromSymbol(at::Symbol::dimname("bar"))) && at::Dimname::isValidName("a_1") &&
             !at::Dimname::isValidName("1a"));
  CHECK_THAT(!message_of([] { at::Dimname::fromSymbol(at::Symbol::dimname("a.b")); }).empty());
  CHECK_THAT(at::Symbol::aten("add") == at::Symbol::fromQualString("aten::add") &&
             std::string(at::Symbol::aten("add").toUnqualString()) == "add");
  CHECK_THAT(!c10::impl::check_python_gil());
}

void errors() {
  const auto checking = [] {
    try {
      try {
        TORCH_CHECK(false, "wrong");
      } catch (c10::Error& e) { TORCH_RETHROW(e, "while adding"); }
    } catch (c10::Error& e) { TORCH_RETHROW(e, "while training"); }
  };
  CHECK_THAT(message_of(checking) == "wrong\n  while adding\n  while training");
}

at::Tensor twice(const at::Tensor& x) { return x * 2; }

void functions() {
  CHECK_THAT(at::scalar_to_tensor(at::Scalar(3)).scalar_type() == at::kLong && at::scalar_to_tensor(2.5).scalar_type() == at::kDouble);
  constexpr auto function = TORCH_FN(twice);
  static_assert(function.func_ptr() == &twice, "");
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("core_objects::twice", "").typed<at::Tensor(const at::Tensor&)>();
  CHECK_THAT(op.call(at::ones(2)).equal(at::full({2}, 2.0)));
}

}  // namespace

TORCH_LIBRARY(core_objects, m) {
  m.def("twice(Tensor x) -> Tensor");
  m.impl("twice", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(twice)));
}

int main() {
  guards();
  exchange();
  names();
  errors();
  functions();
  return failures;
}
