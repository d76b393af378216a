#include "cresset/core/fake_mode.h"

#include <algorithm>

#include "cresset/core/sparse.h"

namespace cresset {

namespace {

constexpr int64_t kGrain = 64;

int64_t rounded(int64_t bytes) { return bytes < 0 ? -rounded(-bytes) : (bytes + kGrain - 1) / kGrain * kGrain; }

}  // namespace

template <class T> intrusive_ptr<T> FakeMode::Memo<T>::find(const T* real) const {
  const auto found = pairs.find(real);
  return found == pairs.end() || found->second.real.expired() ? intrusive_ptr<T>() : found->second.fake.lock();
}

template <class T> void FakeMode::Memo<T>::put(const intrusive_ptr<T>& real, const intrusive_ptr<T>& fake) {
  if (pairs.size() >= limit) {
    for (auto it = pairs.begin(); it != pairs.end();) it = it->second.real.expired() || it->second.fake.expired() ? pairs.erase(it) : std::next(it);
    limit = std::max<size_t>(64, 2 * pairs.size());
  }
  pairs[real.get()] = {real, fake};
}

FakeMode::Memory& FakeMode::memory_of(Device device) const {
  for (auto& [d, memory] : memory_)
    if (d == device) return memory;
  memory_.push_back({device, {}});
  return memory_.back().second;
}

FakeMode::Memory FakeMode::memory(Device device) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!device.is_cpu() && !device.is_meta() && !device.has_index()) device = Device(device.type(), 0);
  return memory_of(device);
}

void FakeMode::reset_peak(Device device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!device.is_cpu() && !device.is_meta() && !device.has_index()) device = Device(device.type(), 0);
  Memory& m = memory_of(device);
  m.peak_allocated_bytes = m.allocated_bytes;
}

void FakeMode::count(Device device, int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Memory& m = memory_of(device);
  m.allocated_bytes += rounded(bytes);
  m.peak_allocated_bytes = std::max(m.peak_allocated_bytes, m.allocated_bytes);
}

intrusive_ptr<TensorImpl> FakeMode::fake_sparse(const TensorImpl& real) {
  const auto& p = static_cast<const SparseParts&>(*real.parts());
  const FakeModeScope scope(this);
  const NoDataScope fake(NoData::Fake);
  auto part = [&](const Tensor& like, int64_t stored) {
    DimVector sizes(like.sizes());
    if (stored >= 0) sizes[static_cast<size_t>(stored)] = 0;
    return Tensor(make_dense(sizes, like.scalar_type(), real.device()));
  };
  const Tensor made = p.plain.defined()
                          ? make_compressed(real.layout(), real.sizes(), part(p.indices, -1), part(p.plain, p.batch_dim()), part(p.values, p.batch_dim()))
                          : make_coo(real.sizes(), part(p.indices, 1), part(p.values, 0), p.coalesced);
  made.impl()->set_inference(real.is_inference());
  return intrusive_ptr<TensorImpl>::share(made.impl());
}

intrusive_ptr<TensorImpl> FakeMode::fake_of(const TensorImpl& real) {
  if (real.parts()) return fake_sparse(real);
  intrusive_ptr<StorageImpl> storage;
  if (real.has_storage()) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      storage = storages_.find(real.storage().get());
    }
    if (!storage) {
      storage = make_intrusive<StorageImpl>(real.storage()->nbytes(), real.device(), *this);
      const std::lock_guard<std::mutex> lock(mutex_);
      storages_.put(real.storage(), storage);
    }
  }
  auto fake = make_intrusive<TensorImpl>(storage, real.dtype(), real.device(), real.layout());
  fake->set_backend(kFakeBackend);
  fake->set_geometry(real.sizes(), real.strides(), real.storage_offset());
  fake->set_conj(real.is_conj());
  fake->set_neg(real.is_neg());
  fake->set_wrapped_number(real.is_wrapped_number());
  fake->set_inference(real.is_inference());
  return fake;
}

intrusive_ptr<TensorImpl> FakeMode::constant(const TensorImpl& real, Device device) {
  if (!device.is_cpu() && !device.is_meta() && !device.has_index()) device = Device(device.type(), 0);
  auto storage = make_intrusive<StorageImpl>(real.storage()->nbytes(), device, *this);
  if (real.numel() == 1) storage->set_constant(real.storage());
  auto fake = make_intrusive<TensorImpl>(std::move(storage), real.dtype(), device, real.layout());
  fake->set_geometry(real.sizes(), real.strides(), real.storage_offset());
  return fake;
}

intrusive_ptr<TensorImpl> FakeMode::remembered(const intrusive_ptr<TensorImpl>& real, const std::function<intrusive_ptr<TensorImpl>()>& make) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (auto found = tensors_.find(real.get())) return found;
  }
  auto made = make();
  const std::lock_guard<std::mutex> lock(mutex_);
  tensors_.put(real, made);
  return made;
}

FakeMode* mode_of_fake(const TensorImpl& t) {
  if (!is_fake(t)) return nullptr;
  const TensorImpl& memory = t.parts() ? *static_cast<const SparseParts&>(*t.parts()).values.impl() : t;
  return memory.has_storage() ? memory.storage()->fake_mode() : nullptr;
}

intrusive_ptr<TensorImpl> known_values(const TensorImpl& fake) {
  const auto bytes = fake.has_storage() ? fake.storage()->constant() : intrusive_ptr<StorageImpl>();
  if (!bytes) return {};
  auto real = make_intrusive<TensorImpl>(bytes, fake.dtype(), bytes->device(), fake.layout());
  real->set_geometry(fake.sizes(), fake.strides(), fake.storage_offset());
  real->set_conj(fake.is_conj());
  real->set_neg(fake.is_neg());
  real->set_wrapped_number(fake.is_wrapped_number());
  return real;
}

FakeModeScope::FakeModeScope(FakeMode* mode) : kept_(intrusive_ptr<FakeMode>::share(mode)) {
  LayerState& state = layer_state();
  saved_ = state.fake_mode;
  included_ = state.included;
  no_data_ = state.no_data;
  state.fake_mode = mode;
  state.included = static_cast<uint8_t>(mode ? included_ | kLazyMathLayer : included_ & ~kLazyMathLayer);
  state.no_data = NoData::None;
}

FakeModeScope::~FakeModeScope() {
  LayerState& state = layer_state();
  state.fake_mode = saved_;
  state.included = included_;
  state.no_data = no_data_;
}

}  // namespace cresset
