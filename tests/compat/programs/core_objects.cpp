// Guards of devices and streams, generators, DLPack, names of dimensions, notes on errors, functions as types, backends' tensors.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/DLConvertor.h>
#include <ATen/Dimname.h>
#include <ATen/NativeFunctions.h>
#include <ATen/StorageUtils.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/FakeGuardImpl.h>
#include <c10/core/impl/InlineDeviceGuard.h>
#include <c10/core/impl/InlineStreamGuard.h>
#include <c10/core/impl/SizesAndStrides.h>
#include <c10/util/DeadlockDetection.h>
#include <c10/util/Logging.h>
#include <torch/library.h>

#include <thread>

#include "expect.h"

namespace {

template <class F> std::string message_of(F&& f) {
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
  CHECK_THAT(!message_of([] { c10::impl::InlineDeviceGuard<Fake> guard(c10::Device(c10::DeviceType::HIP, 1)); }).empty());

  const Fake cuda;
  const c10::impl::FakeGuardImpl<c10::DeviceType::HIP> hip;
  {
    c10::OptionalDeviceGuard guard;
    guard.reset_device(gpu(1), &cuda);
    guard.reset_device(c10::Device(c10::DeviceType::HIP, 2), &hip);
    CHECK_THAT(Fake::getDeviceIndex() == 0 && guard.current_device() == c10::Device(c10::DeviceType::HIP, 2));
    CHECK_THAT(guard.original_device() == c10::Device(c10::DeviceType::HIP, 0));
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

void generators() {
  at::Generator one = at::detail::createCPUGenerator();
  at::Generator& standard = at::detail::getDefaultCPUGenerator();
  CHECK_THAT(&standard == &at::globalContext().defaultGenerator(at::kCPU));
  auto* state = at::check_generator<at::CPUGeneratorImpl>(one);
  state->random();
  {
    const std::lock_guard<std::mutex> lock(standard.mutex());
    standard.set_current_seed(123);
    CHECK_THAT(standard.current_seed() == 123);
    const at::Generator copy = one.clone();
    CHECK_THAT(copy.get<at::CPUGeneratorImpl>()->random64() == state->random64());
  }
  const auto count_up = [&standard] {
    const std::lock_guard<std::mutex> lock(standard.mutex());
    standard.set_current_seed(standard.current_seed() + 1);
  };
  std::thread first(count_up), second(count_up);
  first.join();
  second.join();
  CHECK_THAT(standard.current_seed() == 125);
  const at::Generator forked = standard.clone();
  const at::Tensor expected = at::randn({10});
  CHECK_THAT(at::randn({10}, forked).equal(expected));
  CHECK_THAT(!message_of([] { at::check_generator<at::CPUGeneratorImpl>(at::Generator()); }).empty());
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

  auto shared = std::make_unique<at::Tensor>(at::ones({5}));
  const auto weak = shared->storage().getWeakStorageImpl();
  at::share_memory_(*shared);
  CHECK_THAT(shared->equal(at::ones({5})) && weak.weak_use_count() == 2);
  shared.reset();
  CHECK_THAT(weak.expired());
}

void names() {
  const auto foo = at::Dimname::fromSymbol(at::Symbol::dimname("foo"));
  CHECK_THAT(foo.type() == at::NameType::BASIC && foo.matches(at::Dimname::wildcard()) && *at::Dimname::wildcard().unify(foo) == foo);
  CHECK_THAT(!foo.unify(at::Dimname::fromSymbol(at::Symbol::dimname("bar"))) && at::Dimname::isValidName("a_1") && !at::Dimname::isValidName("1a"));
  CHECK_THAT(!message_of([] { at::Dimname::fromSymbol(at::Symbol::dimname("a.b")); }).empty());
  CHECK_THAT(at::Symbol::aten("add") == at::Symbol::fromQualString("aten::add") && std::string(at::Symbol::aten("add").toUnqualString()) == "add");
  c10::impl::SizesAndStrides geometry;
  geometry.set_sizes({5, 6, 7, 8});
  const c10::impl::SizesAndStrides moved(std::move(geometry));
  CHECK_THAT(moved.strides_arrayref() == c10::IntArrayRef({1, 0, 0, 0}) && moved.size_at(3) == 8);
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
  int left = 4;
  CHECK_THAT(message_of([&] { CAFFE_ENFORCE_THAT(std::equal_to<void>(), ==, ++left, 6); }).find("5 vs 6") != std::string::npos && left == 5);
  CHECK_THAT(message_of([] { CAFFE_ENFORCE_GT(1, 2, " in the loop"); }).find("1 > 2, got 1 vs 2 in the loop") != std::string::npos);
  LOG(INFO) << "not written: the level is above";
}

at::Tensor twice(const at::Tensor& x) { return x * 2; }

void backends() {
  const at::Tensor absent(c10::make_intrusive<at::TensorImpl, c10::UndefinedTensorImpl>(c10::DispatchKey::XLA, caffe2::TypeMeta::Make<float>(),
                                                                                        c10::Device(c10::DeviceType::XLA, 0)));
  CHECK_THAT(absent.device() == c10::Device(c10::DeviceType::XLA, 0) && absent.scalar_type() == at::kFloat);
  const at::Tensor stored(c10::make_intrusive<at::TensorImpl, c10::UndefinedTensorImpl>(
      c10::Storage(c10::Storage::use_byte_size_t(), 0, at::DataPtr(nullptr, c10::Device(c10::DeviceType::MAIA, 1)), nullptr, false), c10::DispatchKey::MAIA,
      caffe2::TypeMeta::Make<double>()));
  CHECK_THAT(stored.device() == c10::Device(c10::DeviceType::MAIA, 1) && stored.dtype() == caffe2::TypeMeta::Make<double>());
  at::Tensor moved = at::ones(1);
  const at::Tensor taken(std::move(moved));
  CHECK_THAT(moved.unsafeGetTensorImpl() == c10::UndefinedTensorImpl::singleton() && taken.toBackend(at::Backend::CPU).equal(taken));
  CHECK_THAT(!message_of([&] { taken.toBackend(at::Backend::Undefined); }).empty());
  CHECK_THAT(at::native::cpu_equal(at::native::zeros({2}), at::zeros(2)) && at::ones(2).m(at::relu).equal(at::ones(2)));
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
  generators();
  exchange();
  names();
  errors();
  backends();
  return failures;
}
