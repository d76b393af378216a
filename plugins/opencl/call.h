#pragma once
// A call of an operator on the device, and the pieces of OpenCL C that all kernels share.

#include <array>

#include "cresset/dispatch/registration.h"
#include "cresset/ops/functions.h"
#include "device.h"

namespace opencl {

using cresset::IntArrayRef;
using cresset::Scalar;
using cresset::ScalarType;
using cresset::Tensor;
using cresset::dispatch::OpEntry;
using cresset::dispatch::Stack;
using cresset::dispatch::Value;

constexpr int kMaxDims = 8;

// The arguments of a call, which stay on the stack until a kernel has given its results.
class Call {
 public:
  Call(const OpEntry& op, Stack& stack);
  const OpEntry& op() const { return op_; }
  size_t size() const { return count_; }
  const Value& operator[](size_t i) const { return stack_[stack_.size() - count_ + i]; }
  const Tensor& tensor(size_t i) const { return (*this)[i].to_tensor(); }
  bool has(size_t i) const { return !(*this)[i].is_none(); }
  int64_t integer(size_t i) const { return (*this)[i].to_int(); }
  double number(size_t i) const { return (*this)[i].to_scalar().toDouble(); }
  bool flag(size_t i) const { return (*this)[i].to_bool(); }
  std::vector<int64_t> integers(size_t i) const { return has(i) ? (*this)[i].to_int_list() : std::vector<int64_t>(); }
  DeviceIndex device() const { return device_; }
  // Results of the shapes, dtypes and strides that the operator's meta kernel tells, which also checks the arguments; written arguments are themselves.
  std::vector<Tensor> results() const;
  // The same without memory.
  std::vector<Tensor> meta_results() const;
  template <class... T> bool give(T&&... results) {
    Stack out;
    (out.emplace_back(std::forward<T>(results)), ...);
    replace(std::move(out));
    return true;
  }
  bool give_all(const std::vector<Tensor>& results);

 private:
  void replace(Stack results);
  const OpEntry& op_;
  Stack& stack_;
  size_t count_;
  DeviceIndex device_ = 0;
};

// Computes the call, or returns false and leaves it to the CPU.
using Body = bool (*)(Call&);
void native(cresset::dispatch::Library& m, const char* name, Body body);
// Runs the operator on the CPU and counts that.
void on_cpu(const OpEntry& op, Stack& stack);
// Names of operators with the number of their calls that ran on the CPU.
std::vector<std::pair<std::string, int64_t>> fallback_counts();
void reset_fallback_counts();

// --- OpenCL C ---

// The type that holds an element in memory; null for dtypes that no kernel reads.
const char* stored_type(ScalarType t);
// float, double, long or bool: what elements are computed in. Null: none.
const char* element_type(ScalarType t);
// "p[i]" as the compute type, and the statement that puts `value` there.
std::string loaded(ScalarType t, const std::string& p, const std::string& i);
std::string stores(ScalarType t, const std::string& p, const std::string& i, const std::string& value);
// Functions that those need.
const std::string& prelude();
// T, the stored type, C, the compute type, and LOAD and STORE of a dtype, each with `suffix` behind its name.
std::string names_of(ScalarType t, const char* suffix = "");
inline bool is_real(ScalarType t) { return element_type(t) != nullptr; }
inline bool is_single(const Tensor& t) { return t.scalar_type() == ScalarType::Float; }
// Float, half and bfloat16, which kernels compute in float.
inline bool is_floating(const Tensor& t) {
  return t.scalar_type() == ScalarType::Float || t.scalar_type() == ScalarType::Half || t.scalar_type() == ScalarType::BFloat16;
}
inline bool on_device(const Tensor& t) { return t.defined() && t.device().type() == kType; }
void replace_all(std::string& text, const std::string& from, const std::string& to);

// Sizes and strides, in elements, of arrays that a kernel walks together; `dims` of them are used.
template <int arrays> struct Walk {
  int64_t sizes[kMaxDims];
  int64_t strides[arrays][kMaxDims];
};

// Sizes and strides of the dimensions of one tensor.
using One = Walk<1>;
One walk_of(const Tensor& t, const std::vector<int64_t>& dims);
// Dimensions as the argument names them, wrapped; `all` for none.
std::vector<int64_t> wrapped_dims(const std::vector<int64_t>& dims, int64_t rank, bool all);
std::vector<int64_t> other_dims(const std::vector<int64_t>& dims, int64_t rank);
// OpenCL C of One, and of a function that turns a number into an offset.
extern const char* const kOne;
// The tensor itself where it is contiguous, else a contiguous copy.
Tensor dense(const Tensor& t);
// Results whose kernels write them densely: contiguous ones of the same shape, which `deliver` brings to the results' own strides.
std::vector<Tensor> dense_for(const std::vector<Tensor>& results);
bool deliver(Call& c, const std::vector<Tensor>& results, const std::vector<Tensor>& dense);

// A tensor of the device of this call.
Tensor make(IntArrayRef sizes, ScalarType dtype, DeviceIndex index);
inline Tensor make_like(const Tensor& t) { return make(t.sizes(), t.scalar_type(), t.device().index()); }
// `value` everywhere; and elements of one tensor in another of the same shape, cast.
void fill_all(const Tensor& t, const Scalar& value);
void move_elements(const Tensor& to, const Tensor& from);
// out = beta c + alpha a b for floats of three dimensions each, or of four: two of batches. `out` is contiguous, and may be c; an undefined c is none.
void multiply_blocks(const Tensor& a, const Tensor& b, const Tensor& c, double beta, double alpha, const Tensor& out);

void add_pointwise(cresset::dispatch::Library& m);
void add_memory(cresset::dispatch::Library& m);
void add_reductions(cresset::dispatch::Library& m);
void add_products(cresset::dispatch::Library& m);
void add_rows(cresset::dispatch::Library& m);
void add_indexing(cresset::dispatch::Library& m);
void add_windows(cresset::dispatch::Library& m);
void add_random(cresset::dispatch::Library& m);
void add_sorting(cresset::dispatch::Library& m);
void add_linalg(cresset::dispatch::Library& m);

}  // namespace opencl
