#pragma once
// The object a Tensor points to: geometry, dtype, device, storage and the layers it wakes.

#include <optional>

#include "cresset/base/dtype.h"
#include "cresset/base/small_vector.h"
#include "cresset/base/type_meta.h"
#include "cresset/core/layers.h"
#include "cresset/core/layout.h"
#include "cresset/core/memory/storage.h"

namespace cresset {

namespace autograd {
enum class CreationMeta : uint8_t;
}

// Autograd's per-tensor data, opaque here: the only hook by which a lower room is reached.
struct CRESSET_API AutogradMetaInterface {
  virtual ~AutogradMetaInterface() = default;
  virtual bool requires_grad() const = 0;
};

// How a view came about: decides whether it may be changed in place while gradients are recorded.
enum class ViewCreation : uint8_t { Default, NoGrad, MultiOutput, Inference };

// Sizes and strides, inline up to five dimensions.
class SizesAndStrides {
 public:
  SizesAndStrides() = default;
  SizesAndStrides(const SizesAndStrides& o) { assign(o.sizes(), o.strides()); }
  SizesAndStrides& operator=(const SizesAndStrides& o) {
    if (this != &o) assign(o.sizes(), o.strides());
    return *this;
  }
  ~SizesAndStrides() {
    if (dim_ > kInline) delete[] heap_;
  }
  int64_t dim() const { return dim_; }
  const int64_t* data() const { return dim_ > kInline ? heap_ : inline_; }
  int64_t* data() { return dim_ > kInline ? heap_ : inline_; }
  IntArrayRef sizes() const { return {data(), static_cast<size_t>(dim_)}; }
  IntArrayRef strides() const { return {data() + dim_, static_cast<size_t>(dim_)}; }
  int64_t* mutable_sizes() { return data(); }
  int64_t* mutable_strides() { return data() + dim_; }
  void set_dim(size_t n) {
    if (dim_ > kInline) delete[] heap_;
    dim_ = static_cast<uint32_t>(n);
    if (n > kInline) heap_ = new int64_t[2 * n];
  }
  // The arrays may be this object's own.
  void assign(IntArrayRef sizes, IntArrayRef strides) {
    const size_t n = sizes.size();
    if (n <= kInline && dim_ <= kInline) {
      int64_t copy[2 * kInline];
      for (size_t i = 0; i < n; i++) {
        copy[i] = sizes[i];
        copy[n + i] = strides[i];
      }
      dim_ = static_cast<uint32_t>(n);
      for (size_t i = 0; i < 2 * n; i++) inline_[i] = copy[i];
      return;
    }
    const DimVector s(sizes), t(strides);
    set_dim(n);
    for (size_t i = 0; i < n; i++) {
      data()[i] = s[i];
      data()[n + i] = t[i];
    }
  }

 private:
  static constexpr uint32_t kInline = 5;
  union {
    int64_t inline_[2 * kInline];
    int64_t* heap_;
  };
  uint32_t dim_ = 0;
};

// cresset/core/dispatch_key_set.h
enum class DispatchKey : uint16_t;
class DispatchKeySet;

// How often a tensor has been written to, as LibTorch's programs ask for it; inference tensors do not count.
class CRESSET_API VariableVersion {
 public:
  VariableVersion(uint32_t version, bool enabled) : version_(version), enabled_(enabled) {}
  bool enabled() const { return enabled_; }
  // Errors: not enabled.
  uint32_t current_version() const;

 private:
  uint32_t version_;
  bool enabled_;
};

// Data that a backend outside of the library keeps with a tensor; copies of the tensor have a clone.
struct CRESSET_API BackendMeta : RefCounted {
  virtual intrusive_ptr<BackendMeta> clone(const intrusive_ptr<BackendMeta>& self) const { return self; }
};

class CRESSET_API TensorImpl : public RefCounted {
 public:
  // A tensor over `storage`; sizes start as {0} and are set by set_geometry.
  TensorImpl(intrusive_ptr<StorageImpl> storage, ScalarType dtype, Device device, Layout layout = Layout::Strided);
  // As LibTorch's backends make theirs: the device is the storage's, or the one that the key stands for, and the layout is the key's.
  TensorImpl(Storage storage, DispatchKey key, TypeMeta dtype);
  TensorImpl(Storage storage, DispatchKeySet keys, TypeMeta dtype);
  TensorImpl(DispatchKey key, TypeMeta dtype, std::optional<Device> device);
  TensorImpl(DispatchKeySet keys, TypeMeta dtype, std::optional<Device> device);
  ~TensorImpl() override;

  static void* operator new(size_t n) { return cpu_allocate(n); }
  static void operator delete(void* p, size_t n) { cpu_deallocate(p, n); }

  int64_t dim() const { return geometry_.dim(); }
  IntArrayRef sizes() const { return geometry_.sizes(); }
  IntArrayRef strides() const { return geometry_.strides(); }
  int64_t numel() const { return numel_; }
  int64_t storage_offset() const { return offset_; }
  ScalarType dtype() const { return dtype_; }
  Device device() const { return device_; }
  Layout layout() const { return layout_; }
  bool is_contiguous() const { return contiguous_; }
  bool is_contiguous(MemoryFormat format) const;
  // No holes and no overlap in some order of the dimensions.
  bool is_non_overlapping_and_dense() const;

  // Stands for the storage in layouts without one (cresset/core/sparse.h). Never changed once it is here: whoever writes replaces it.
  const intrusive_ptr<RefCounted>& parts() const { return parts_; }
  void set_parts(intrusive_ptr<RefCounted> parts) { parts_ = std::move(parts); }
  void set_layout(Layout layout);
  const intrusive_ptr<BackendMeta>& get_backend_meta_intrusive_ptr() const { return backend_meta_; }
  BackendMeta* get_backend_meta() const { return backend_meta_.get(); }
  void set_backend_meta(intrusive_ptr<BackendMeta> meta) { backend_meta_ = std::move(meta); }

  const intrusive_ptr<StorageImpl>& storage() const { return storage_; }
  Storage unsafe_storage() const { return storage_; }
  bool has_storage() const { return storage_.defined(); }
  // First element; nullptr without storage (meta) or without elements.
  void* data() const {
    if (!storage_ || !storage_->data()) return nullptr;
    return static_cast<char*>(storage_->data()) + offset_ * static_cast<int64_t>(element_size(dtype_));
  }

  void set_geometry(IntArrayRef sizes, IntArrayRef strides, int64_t offset);
  void set_sizes_contiguous(IntArrayRef sizes);
  void set_storage(intrusive_ptr<StorageImpl> storage) { storage_ = std::move(storage); }
  void set_dtype(ScalarType t) {
    dtype_ = t;
    set_lazy_layer();
  }

  // A new impl over the same storage with the same geometry and no autograd data. It shares the version counter, or gets its own.
  intrusive_ptr<TensorImpl> alias(bool share_version) const;
  // The same with another geometry and a shared version counter.
  intrusive_ptr<TensorImpl> view(IntArrayRef sizes, IntArrayRef strides, int64_t offset) const;
  // Takes over storage, geometry and dtype of `other`, keeping identity, autograd data and version counter (`set_data`).
  void shallow_copy_from(const TensorImpl& other);
  void shallow_copy_from(const intrusive_ptr<TensorImpl>& other) { shallow_copy_from(*other); }

  uint32_t version() const { return own_version_ ? own_version_->value.load() : storage_ ? storage_->version().load() : 0; }
  VariableVersion version_counter() const { return VariableVersion(version(), !is_inference_); }
  // Errors: an inference tensor outside inference mode, which counts nothing within it.
  void bump_version() {
    if (CRESSET_UNLIKELY(is_inference_ && !own_version_)) return check_writable();
    auto& v = own_version_ ? own_version_->value : storage_->version();
    v.store(v.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // Inference tensors are not, outside of inference mode.
  bool is_writable() const { return CRESSET_LIKELY(!is_inference_) || own_version_ || layer_state().inference_mode; }
  // In-place operators call this before they write. Errors: a tensor that is not writable.
  void check_writable() const {
    if (CRESSET_UNLIKELY(!is_writable())) throw_inference_write();
  }
  void share_version_of(const TensorImpl& o) { own_version_ = o.own_version_; }
  // Of an inference tensor only an alias has versions.
  void set_own_version() {
    if (!is_inference_) own_version_ = make_intrusive<VersionCounter>();
  }

  // The keys that a call with this tensor would see in LibTorch.
  DispatchKeySet key_set() const;

  uint8_t layers() const { return layers_; }
  void set_layer(Layer l, bool on) { layers_ = static_cast<uint8_t>(on ? layers_ | layer_bit(l) : layers_ & ~layer_bit(l)); }
  // 0 CPU strided, 1 meta, 2 and 3 sparse on the CPU, 255 fake on any device, others as registered at run time for (device type, layout).
  uint8_t backend() const { return backend_; }
  void set_backend(uint8_t b) { backend_ = b; }

  // Notes that this is a view of `base`, or of the tensor that `base` itself views. Every operator that returns a view calls it, with
  // or without gradients: a later in-place change of the base may give the view a history. Views of inference tensors are not tracked.
  void set_view_of(TensorImpl& base, bool multi_output = false) {
    if (base.is_inference_) return;
    const LayerState& state = layer_state();
    view_creation_ = multi_output           ? ViewCreation::MultiOutput
                     : state.inference_mode ? ViewCreation::Inference
                     : state.grad_mode      ? ViewCreation::Default
                                            : ViewCreation::NoGrad;
    if (view_creation_ == ViewCreation::Default || base.view_creation_ == ViewCreation::Inference) view_creation_ = base.view_creation_;
    view_base_ = base.view_base_ ? base.view_base_ : intrusive_ptr<TensorImpl>::share(&base);
    set_view_version(version());
    set_layer(Layer::Autograd, true);
  }
  bool is_view() const { return view_base_.defined(); }
  const intrusive_ptr<TensorImpl>& view_base() const { return view_base_; }
  ViewCreation view_creation() const { return view_creation_; }
  void set_view_creation(ViewCreation c) { view_creation_ = c; }
  // The version at which the history of this view was last brought up to date.
  // It is written after that history, so that a thread that sees it sees the history as well.
  uint32_t view_version() const { return view_version_.load(std::memory_order_acquire); }
  void set_view_version(uint32_t v) { view_version_.store(v, std::memory_order_release); }
  void clear_view() {
    view_base_.reset();
    view_creation_ = ViewCreation::Default;
  }

  AutogradMetaInterface* autograd() const { return autograd_; }
  // Differentiation's part of the tensor as LibTorch's programs see it (autograd::DifferentiableViewMeta): it is this impl. nullptr without any.
  TensorImpl* autograd_meta() { return autograd_ || is_view() ? this : nullptr; }
  bool has_bw_view() const { return is_view(); }
  autograd::CreationMeta get_creation_meta() const;
  // Takes ownership; nullptr clears.
  void set_autograd(AutogradMetaInterface* meta) {
    delete autograd_;
    autograd_ = meta;
  }
  bool is_inference() const { return is_inference_; }
  void set_inference(bool on) { is_inference_ = on; }
  void remove_autograd_key() { set_inference(true); }
  bool is_conj() const { return is_conj_; }
  // The elements are the conjugates, or the negatives, of what the memory holds.
  void set_conj(bool on) {
    is_conj_ = on;
    set_lazy_layer();
  }
  bool is_neg() const { return is_neg_; }
  void set_neg(bool on) {
    is_neg_ = on;
    set_lazy_layer();
  }
  // The memory is not what kernels compute on: lazily conjugated or negated, or of a dtype that is only stored.
  bool is_lazy() const { return (layers_ & kLazyMathLayer) != 0; }
  // A Python or C++ number turned into a tensor: takes part in promotion as a scalar.
  bool is_wrapped_number() const { return wrapped_number_; }
  void set_wrapped_number(bool on) { wrapped_number_ = on; }

 protected:
  void release_resources() override;

 private:
  [[noreturn]] static void throw_inference_write();
  CRESSET_LOCAL void refresh();
  void set_lazy_layer() { set_layer(Layer::LazyMath, is_conj_ || is_neg_ || is_storage_type(dtype_)); }
  CRESSET_LOCAL intrusive_ptr<TensorImpl> over_same_storage() const;
  CRESSET_LOCAL void copy_backend_meta(const TensorImpl& o);

  intrusive_ptr<StorageImpl> storage_;
  intrusive_ptr<RefCounted> parts_;
  intrusive_ptr<BackendMeta> backend_meta_;
  AutogradMetaInterface* autograd_ = nullptr;
  intrusive_ptr<VersionCounter> own_version_;
  intrusive_ptr<TensorImpl> view_base_;
  int64_t offset_ = 0;
  int64_t numel_ = 0;
  SizesAndStrides geometry_;
  ScalarType dtype_;
  Device device_;
  Layout layout_;
  uint8_t layers_ = 0;
  uint8_t backend_ = 0;
  bool contiguous_ = true;
  bool is_inference_ = false;
  bool is_conj_ = false, is_neg_ = false, wrapped_number_ = false;
  ViewCreation view_creation_ = ViewCreation::Default;
  std::atomic<uint32_t> view_version_{0};
};

// The null object of pointers to a TensorImpl, in LibTorch's name: there is none.
struct UndefinedTensorImpl {
  static constexpr TensorImpl* singleton() noexcept { return nullptr; }
};

// Backend number of a (device type, layout) pair; fixed by dispatch when a backend registers.
CRESSET_API uint8_t backend_of(DeviceType type, Layout layout);
// The property that this thread last asked for in vain: the error of the call then names it.
CRESSET_API std::pair<DeviceType, Layout> last_missing_backend();
CRESSET_API void set_backend_of(DeviceType type, Layout layout, uint8_t backend);
constexpr uint8_t kCpuBackend = 0, kMetaBackend = 1, kSparseBackend = 2, kSparseCompressedBackend = 3, kNoBackend = 254, kFakeBackend = 255;

// A fresh, uninitialised dense tensor; the short path behind every factory and output.
CRESSET_API intrusive_ptr<TensorImpl> make_dense(IntArrayRef sizes, ScalarType dtype, Device device);
CRESSET_API intrusive_ptr<TensorImpl> make_strided(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype, Device device);

}  // namespace cresset
