#pragma once
// Walks tensors together element by element, for kernels that users write in C++: shapes broadcast, dtypes are checked or promoted,
// outputs are made or resized, and a loop gets pointers and strides in bytes. cresset/ops/tensor_loops.h makes such loops of
// functions of elements.

#include <optional>

#include "cresset/base/function_ref.h"
#include "cresset/core/tensor.h"

namespace cresset {

class TensorIterator;

class CRESSET_API TensorIteratorConfig {
 public:
  // Outputs come first. For an undefined one the iterator makes its own, see `output`; one that is defined is resized to the common
  // shape if it has another.
  TensorIteratorConfig& add_output(const Tensor& t) { return add(t, true); }
  TensorIteratorConfig& add_borrowed_output(const Tensor& t) { return add_output(t); }
  TensorIteratorConfig& add_owned_output(const Tensor& t) { return add_output(t); }
  TensorIteratorConfig& add_input(const Tensor& t) { return add(t, false); }
  TensorIteratorConfig& add_borrowed_input(const Tensor& t) { return add_input(t); }
  TensorIteratorConfig& add_owned_input(const Tensor& t) { return add_input(t); }
  TensorIteratorConfig& add_const_input(const Tensor& t) { return add_input(t); }
  TensorIteratorConfig& add_borrowed_const_input(const Tensor& t) { return add_input(t); }
  TensorIteratorConfig& add_owned_const_input(const Tensor& t) { return add_input(t); }

  // Outputs may share no memory with themselves or, but for the very same array, with inputs. On.
  TensorIteratorConfig& set_check_mem_overlap(bool on) {
    check_overlap_ = on;
    return *this;
  }
  // All tensors are of one dtype. On.
  TensorIteratorConfig& check_all_same_dtype(bool on) {
    same_dtype_ = on;
    return *this;
  }
  // All tensors are on one device. On.
  TensorIteratorConfig& check_all_same_device(bool on) {
    same_device_ = on;
    return *this;
  }
  // The inputs are converted to the dtype they promote to; implies `check_all_same_dtype(false)`.
  TensorIteratorConfig& promote_inputs_to_common_dtype(bool on) {
    promote_ = on;
    if (on) same_dtype_ = false;
    return *this;
  }
  // ... and integers and bool to the default dtype.
  TensorIteratorConfig& promote_integer_inputs_to_float(bool on) {
    promote_to_float_ = on;
    return *this;
  }
  // Outputs are written in the common dtype and converted at the end. Errors, of build: one that it cannot be cast to.
  TensorIteratorConfig& cast_common_dtype_to_outputs(bool on) {
    cast_outputs_ = on;
    return *this;
  }
  TensorIteratorConfig& enforce_safe_casting_to_output(bool on) {
    safe_casting_ = on;
    return *this;
  }
  // Outputs keep their sizes. On: they are resized.
  TensorIteratorConfig& resize_outputs(bool on) {
    resize_ = on;
    return *this;
  }
  TensorIteratorConfig& is_reduction(bool on) {
    if (on) resize_ = false;
    return *this;
  }
  TensorIteratorConfig& allow_cpu_scalars(bool) { return *this; }
  TensorIteratorConfig& enforce_linear_iteration(bool = true) { return *this; }
  TensorIteratorConfig& declare_static_dtype(ScalarType t) {
    static_dtype_ = t;
    return *this;
  }
  TensorIteratorConfig& declare_static_dtype_and_device(ScalarType t, Device d) {
    static_device_ = d;
    return declare_static_dtype(t);
  }
  TensorIteratorConfig& declare_static_device(Device d) {
    static_device_ = d;
    return *this;
  }
  TensorIteratorConfig& declare_static_shape(IntArrayRef shape) {
    static_shape_ = DimVector(shape);
    resize_ = false;
    return *this;
  }

  // Errors: no tensors, shapes that do not broadcast, dtypes or devices that differ, an input that is undefined, overlapping
  // memory.
  TensorIterator build();

 private:
  friend class TensorIterator;
  struct Given {
    Tensor tensor;
    bool output;
  };
  TensorIteratorConfig& add(const Tensor& t, bool output);

  std::vector<Given> given_;
  bool check_overlap_ = true, same_dtype_ = true, same_device_ = true, promote_ = false, promote_to_float_ = false, cast_outputs_ = false,
       safe_casting_ = false, resize_ = true;
  std::optional<ScalarType> static_dtype_;
  std::optional<Device> static_device_;
  std::optional<DimVector> static_shape_;
};

class CRESSET_API TensorIterator {
 public:
  // data[i] and strides[i] of each operand, outputs first; n elements.
  using Loop = FunctionRef<void(char** data, const int64_t* strides, int64_t n)>;
  // strides: of the inner dimension for all operands, then of the outer one.
  using Loop2d = FunctionRef<void(char** data, const int64_t* strides, int64_t inner, int64_t outer)>;

  TensorIterator() = default;
  TensorIterator(const TensorIterator&) = delete;
  TensorIterator& operator=(const TensorIterator&) = delete;
  TensorIterator(TensorIterator&&) = default;
  TensorIterator& operator=(TensorIterator&&) = default;
  ~TensorIterator();

  static TensorIterator unary_op(Tensor& out, const Tensor& a);
  static TensorIterator unary_float_op(Tensor& out, const Tensor& a);
  static TensorIterator nullary_op(Tensor& out);
  static TensorIterator binary_op(Tensor& out, const Tensor& a, const Tensor& b);
  static TensorIterator borrowing_binary_op(const Tensor& out, const Tensor& a, const Tensor& b);
  static TensorIterator binary_float_op(Tensor& out, const Tensor& a, const Tensor& b);
  static TensorIterator comparison_op(Tensor& out, const Tensor& a, const Tensor& b);

  int ntensors() const { return static_cast<int>(operands_.size()); }
  int noutputs() const { return outputs_; }
  int ninputs() const { return ntensors() - outputs_; }
  int64_t ndim() const { return static_cast<int64_t>(shape_.size()); }
  IntArrayRef shape() const { return shape_; }
  int64_t numel() const;
  bool is_contiguous() const;
  // The tensor that an operand is, whose dtype a conversion may have changed.
  const Tensor& tensor(int i) const { return operands_[static_cast<size_t>(i)].tensor; }
  const Tensor& output(int i = 0) const { return operands_[static_cast<size_t>(i)].original; }
  const Tensor& input(int i = 0) const { return operands_[static_cast<size_t>(outputs_ + i)].original; }
  ScalarType dtype(int i = 0) const { return tensor(i).scalar_type(); }
  ScalarType input_dtype(int i = 0) const { return tensor(outputs_ + i).scalar_type(); }
  // Errors: dtypes that differ, where none was asked for.
  ScalarType common_dtype() const;
  Device device(int i = 0) const { return tensor(i).device(); }
  DeviceType device_type(int i = 0) const { return device(i).type(); }
  int64_t element_size(int i) const { return static_cast<int64_t>(tensor(i).element_size()); }
  void* data_ptr(int i) const { return tensor(i).data_ptr(); }
  // In bytes, over the common shape.
  IntArrayRef strides(int i) const { return operands_[static_cast<size_t>(i)].strides; }
  bool is_scalar(int i) const { return tensor(i).numel() == 1; }
  bool is_cpu_scalar(int i) const { return is_scalar(i) && device(i).is_cpu(); }

  // Calls `loop`, a Loop or a Loop2d, for every element, on several threads where there are more than `grain`; serial: on this one.
  template <class F> void for_each(F&& loop, int64_t grain = 32768) const {
    if constexpr (std::is_invocable<F&, char**, const int64_t*, int64_t, int64_t>::value) run_2d(loop, grain);
    else run(loop, grain);
  }
  void serial_for_each(Loop loop) const;
  // Converts what was written in the common dtype.
  void cast_outputs();

 private:
  friend class TensorIteratorConfig;
  struct Operand {
    Tensor tensor, original;
    DimVector strides;
  };
  void run(Loop loop, int64_t grain) const;
  void run_2d(Loop2d loop, int64_t grain) const;
  CRESSET_LOCAL void run_range(int64_t begin, int64_t end, Loop loop) const;

  std::vector<Operand> operands_;
  DimVector shape_;
  int outputs_ = 0;
  ScalarType common_ = ScalarType::Undefined;
};

}  // namespace cresset
