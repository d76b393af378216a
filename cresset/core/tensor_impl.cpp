#include "cresset/core/tensor_impl.h"

#include <atomic>

#include "cresset/base/util/reach.h"
#include "cresset/core/fake_mode.h"
#include "cresset/core/hooks.h"

namespace cresset {

namespace {

constexpr int kDeviceSlots = static_cast<int>(DeviceType::MaxRegistered) + 1;
constexpr int kLayoutSlots = static_cast<int>(Layout::Mkldnn) + 1;

ObjectHook<TensorImpl> g_object_hook;

void release_object(TensorImpl& t) {
  if (CRESSET_UNLIKELY(g_object_hook.kept.load(std::memory_order_relaxed) != 0)) g_object_hook.release(t);
}

// Backend numbers by (device type, layout); stored off by one so that zero-initialised slots mean "none".
std::atomic<uint8_t> g_backends[kDeviceSlots][kLayoutSlots];

CRESSET_ALWAYS_INLINE int64_t checked_numel(IntArrayRef sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) {
    CRESSET_CHECK(s >= 0, "tensor: negative dimension in shape ", sizes);
    CRESSET_CHECK(!__builtin_mul_overflow(n, s, &n), "tensor: the number of elements of shape ", sizes, " does not fit in 64 bits");
  }
  return n;
}

size_t checked_bytes(int64_t numel, ScalarType dtype, IntArrayRef sizes) {
  int64_t bytes;
  CRESSET_CHECK(!__builtin_mul_overflow(numel, static_cast<int64_t>(element_size(dtype)), &bytes), "tensor: the bytes of shape ", sizes, " and dtype ", dtype,
                " do not fit in 64 bits");
  return static_cast<size_t>(bytes);
}

}  // namespace

std::atomic<autograd::ViewNote*>& autograd::view_note() {
  static std::atomic<ViewNote*> note{nullptr};
  return note;
}
ObjectHook<TensorImpl>& object_hook() { return g_object_hook; }

static thread_local std::pair<DeviceType, Layout> t_missing{DeviceType::CPU, Layout::Strided};

uint8_t backend_of(DeviceType type, Layout layout) {
  if (layout == Layout::Strided) {
    if (type == DeviceType::CPU) return kCpuBackend;
    if (type == DeviceType::Meta) return kMetaBackend;
  }
  if ((type == DeviceType::CPU || type == DeviceType::Meta) && layout != Layout::Mkldnn && layout != Layout::Strided)
    return layout == Layout::Sparse ? kSparseBackend : kSparseCompressedBackend;
  const uint8_t stored = g_backends[static_cast<int>(type)][static_cast<int>(layout)].load(std::memory_order_acquire);
  if (stored) return static_cast<uint8_t>(stored - 1);
  t_missing = {type, layout};
  return kNoBackend;
}

std::pair<DeviceType, Layout> last_missing_backend() { return t_missing; }

void set_backend_of(DeviceType type, Layout layout, uint8_t backend) {
  g_backends[static_cast<int>(type)][static_cast<int>(layout)].store(static_cast<uint8_t>(backend + 1), std::memory_order_release);
}

TensorImpl::TensorImpl(intrusive_ptr<StorageImpl> storage, ScalarType dtype, Device device, Layout layout)
    : storage_(std::move(storage)), dtype_(dtype), device_(device), layout_(layout) {
  if (CRESSET_UNLIKELY(!device.is_cpu() || layout != Layout::Strided)) backend_ = backend_of(device.type(), layout);
  if (CRESSET_UNLIKELY(storage_ && storage_->is_fake())) backend_ = kFakeBackend;
  if (CRESSET_UNLIKELY(is_storage_type(dtype))) set_lazy_layer();
  is_inference_ = layer_state().inference_mode;
  geometry_.set_dim(1);
  geometry_.mutable_sizes()[0] = 0;
  geometry_.mutable_strides()[0] = 1;
}

TensorImpl::~TensorImpl() {
  release_object(*this);
  delete autograd_;
}

void TensorImpl::throw_inference_write() {
  CRESSET_CHECK(false, "Inplace update to inference tensor outside InferenceMode is not allowed. clone() it first to get a normal tensor");
  __builtin_unreachable();
}

void TensorImpl::release_resources() {
  release_object(*this);
  delete autograd_;
  autograd_ = nullptr;
  view_base_.reset();
  storage_.reset();
  parts_.reset();
}

void TensorImpl::set_layout(Layout layout) {
  layout_ = layout;
  if (backend_ != kFakeBackend) backend_ = backend_of(device_.type(), layout);
}

void TensorImpl::set_geometry(IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  const int64_t numel = checked_numel(sizes);
  geometry_.assign(sizes, strides);
  offset_ = offset;
  numel_ = numel;
  refresh();
}

void TensorImpl::set_sizes_contiguous(IntArrayRef sizes) {
  const size_t n = sizes.size();
  geometry_.set_dim(n);
  int64_t* s = geometry_.mutable_sizes();
  int64_t* t = geometry_.mutable_strides();
  int64_t step = 1;
  numel_ = 1;
  for (size_t i = n; i-- > 0;) {
    s[i] = sizes[i];
    t[i] = step;
    numel_ *= sizes[i];
    step *= sizes[i] > 1 ? sizes[i] : 1;
  }
  contiguous_ = true;
}

void TensorImpl::refresh() {
  const IntArrayRef s = sizes(), t = strides();
  contiguous_ = true;
  if (numel_ == 0) return;
  int64_t step = 1;
  for (size_t i = s.size(); i-- > 0;) {
    if (s[i] == 1) continue;
    if (t[i] != step) {
      contiguous_ = false;
      return;
    }
    step *= s[i];
  }
}

bool TensorImpl::is_contiguous(MemoryFormat format) const {
  if (format == MemoryFormat::Contiguous || format == MemoryFormat::Preserve) return contiguous_;
  if (dim() != (format == MemoryFormat::ChannelsLast ? 4 : 5)) return false;
  const DimVector wanted = strides_for(sizes(), format);
  for (size_t d = 0; d < wanted.size(); d++)
    if (sizes()[d] != 1 && strides()[d] != wanted[d]) return false;
  return true;
}

bool TensorImpl::is_non_overlapping_and_dense() const {
  if (contiguous_) return true;
  SmallVector<int, 5> order;
  for (int d = 0; d < static_cast<int>(dim()); d++)
    if (sizes()[d] != 1) order.push_back(d);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return strides()[a] < strides()[b]; });
  int64_t step = 1;
  for (const int d : order) {
    if (strides()[d] != step) return false;
    step *= sizes()[d];
  }
  return true;
}

intrusive_ptr<TensorImpl> TensorImpl::over_same_storage() const {
  auto impl = make_intrusive<TensorImpl>(storage_, dtype_, device_, layout_);
  impl->is_conj_ = is_conj_;
  impl->is_neg_ = is_neg_;
  impl->layers_ = layers_ & kLazyMathLayer;
  impl->backend_ = backend_;
  impl->parts_ = parts_;
  if (CRESSET_UNLIKELY(backend_meta_.defined())) impl->copy_backend_meta(*this);
  // An alias made in inference mode of a normal tensor is a normal tensor, and the other way round.
  impl->is_inference_ = is_inference_;
  impl->own_version_ = own_version_;
  return impl;
}

intrusive_ptr<TensorImpl> TensorImpl::alias(bool share_version) const {
  auto impl = over_same_storage();
  impl->geometry_ = geometry_;
  impl->offset_ = offset_;
  impl->numel_ = numel_;
  impl->contiguous_ = contiguous_;
  // An alias of an inference tensor that is made outside of inference mode counts versions, and may be written.
  if (is_inference_ ? !layer_state().inference_mode : !share_version) impl->own_version_ = make_intrusive<VersionCounter>();
  return impl;
}

intrusive_ptr<TensorImpl> TensorImpl::view(IntArrayRef sizes, IntArrayRef strides, int64_t offset) const {
  auto impl = over_same_storage();
  impl->set_geometry(sizes, strides, offset);
  return impl;
}

void TensorImpl::copy_backend_meta(const TensorImpl& o) { backend_meta_ = o.backend_meta_ ? o.backend_meta_->clone(o.backend_meta_) : nullptr; }

void TensorImpl::shallow_copy_from(const TensorImpl& o) {
  if (!own_version_ && !is_inference_) own_version_ = storage_ ? storage_->shared_version() : make_intrusive<VersionCounter>();
  storage_ = o.storage_;
  parts_ = o.parts_;
  if (backend_meta_ || o.backend_meta_) copy_backend_meta(o);
  geometry_ = o.geometry_;
  offset_ = o.offset_;
  numel_ = o.numel_;
  contiguous_ = o.contiguous_;
  dtype_ = o.dtype_;
  device_ = o.device_;
  layout_ = o.layout_;
  backend_ = o.backend_;
  set_conj(o.is_conj_);
  set_neg(o.is_neg_);
}

namespace {

// Memory for a new tensor on the device, which is completed: an accelerator's first, or that of the backend without data that runs.
CRESSET_ALWAYS_INLINE intrusive_ptr<StorageImpl> fresh_storage(size_t bytes, Device& device) {
  const LayerState& state = layer_state();
  if (CRESSET_UNLIKELY(state.no_data == NoData::Meta)) device = Device(kMeta);
  if (CRESSET_UNLIKELY(!device.is_cpu() && !device.is_meta() && !device.has_index())) device = Device(device.type(), 0);
  if (CRESSET_UNLIKELY(state.no_data == NoData::Fake)) return make_intrusive<StorageImpl>(bytes, device, *state.fake_mode);
  return make_intrusive<StorageImpl>(bytes, device);
}

}  // namespace

intrusive_ptr<TensorImpl> make_dense(IntArrayRef sizes, ScalarType dtype, Device device) {
  const int64_t numel = checked_numel(sizes);
  const size_t bytes = checked_bytes(numel, dtype, sizes);
  if (numel == 0) contiguous_strides(sizes);  // of no elements they can still be too large
  auto storage = fresh_storage(bytes, device);
  auto impl = make_intrusive<TensorImpl>(std::move(storage), dtype, device);
  impl->set_sizes_contiguous(sizes);
  return impl;
}

intrusive_ptr<TensorImpl> make_strided(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype, Device device) {
  CRESSET_CHECK(sizes.size() == strides.size(), "empty_strided: ", sizes.size(), " sizes but ", strides.size(), " strides");
  const size_t width = element_size(dtype);
  auto storage = fresh_storage(static_cast<size_t>(checked_reach("empty_strided", sizes, strides, 0, width)) * width, device);
  auto impl = make_intrusive<TensorImpl>(std::move(storage), dtype, device);
  impl->set_geometry(sizes, strides, 0);
  return impl;
}

}  // namespace cresset
