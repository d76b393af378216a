#pragma once
// Shared by generated kernels of the derived forms: outputs from their description, writing into given tensors, views.

#include "cresset/core/tensor.h"
#include "cresset/ops/layout/view_geometry.h"

namespace cresset::ops {

// One output of an op, as its meta function describes it. No strides: contiguous.
struct OutSpec {
  DimVector sizes;
  ScalarType dtype;
  Device device;
  DimVector strides = {};
};
using OutSpecs = SmallVector<OutSpec, 2>;

// Whether a body is to write `out`. Not for tensors without data. Errors: beside those a tensor with data.
bool runs_without_data(const Tensor& out);
inline bool runs(const Tensor& out) { return CRESSET_LIKELY(layer_state().no_data == NoData::None && !out.lacks_data()) || runs_without_data(out); }

// Errors: always. DynamicOutputShapeError for fake tensors.
[[noreturn]] void shape_depends_on_data(const std::string& op, const std::string& overload, const Tensor& t);

Tensor allocate(const OutSpec& spec);
// Copies without counting a change: for bodies, whose callers count it.
void overwrite(const Tensor& out, const Tensor& source);
// A tensor not yet handed out, at version 0: filling it was not a change.
Tensor fresh(Tensor t);

// A view of `self` with the geometry of `spec`; the dtype stays.
Tensor make_view(const Tensor& self, const ViewSpec& spec);
std::vector<Tensor> make_views(const Tensor& self, const std::vector<ViewSpec>& specs);
// Gives `self` itself the geometry of a view (t_, squeeze_).
void restride(const Tensor& self, const ViewSpec& spec);

// The strides of a result of this shape in the memory format of `like` (contiguous, or channels last); empty: contiguous.
DimVector format_strides(const Tensor& like, IntArrayRef sizes);
// Those of a result of the shape of `like`, in its memory order; empty: contiguous.
DimVector preserved_strides(const Tensor& like);

// A new output as a body wants it that writes contiguous memory only: a temporary where the output's strides are others.
class Dense {
 public:
  explicit Dense(const Tensor& out) : out_(out) {
    if (CRESSET_UNLIKELY(!out.is_contiguous())) temporary_ = allocate({DimVector(out.sizes()), out.scalar_type(), out.device()});
  }
  const Tensor& tensor() const { return temporary_.defined() ? temporary_ : out_; }
  void finish() const {
    if (temporary_.defined()) overwrite(out_, temporary_);
  }

 private:
  const Tensor& out_;
  Tensor temporary_;
};

// The tensors among the arguments of a call, to be checked against what it writes.
using Inputs = SmallVector<const Tensor*, 6>;
inline void add_input(Inputs& list, const Tensor& t) {
  if (t.defined()) list.push_back(&t);
}
inline void add_input(Inputs& list, const std::optional<Tensor>& t) {
  if (t) add_input(list, *t);
}
inline void add_input(Inputs& list, TensorList tensors) {
  for (const Tensor& t : tensors) add_input(list, t);
}
inline void add_input(Inputs& list, ArrayRef<std::optional<Tensor>> tensors) {
  for (const auto& t : tensors) add_input(list, t);
}
template <class... T> Inputs inputs_of(const T&... args) {
  Inputs list;
  (add_input(list, args), ...);
  return list;
}

// A tensor given to be written. Where a body cannot write into it directly (another dtype, shared memory, strides that the body
// does not take) the body writes into a temporary, and `finish` copies.
class Written {
 public:
  Written(const Tensor& target, Tensor direct) : target_(&target), direct_(std::move(direct)) {}
  const Tensor& tensor() const { return direct_; }
  bool runs() const { return ops::runs(direct_); }
  void finish();

 private:
  const Tensor* target_;
  Tensor direct_;
};
// A row's demands on `out`: a contiguous one for the body, the result's dtype itself, memory apart from that of all inputs.
enum class OutDtype : uint8_t {
  cast,     // any that the result may be cast to
  convert,  // the same, a TypeError otherwise
  exact,    // the result's, or uint8 for truth values
  any,      // any at all: the body computes in it
};
// same: an input may be the very memory that is written; apart: no input shares memory with what is written, after it was resized;
// apart_before: or before.
enum class OutMemory : uint8_t { same, apart, apart_before, any };
struct OutRule {
  bool contiguous;
  OutDtype dtype;
  OutMemory memory;
};
// Resizes `out` to the result's shape. Errors: another device, a dtype that the result cannot be cast to or that is not the result's,
// elements that share memory with each other or with an input.
Written written_out(const char* op, const Tensor& out, const OutSpec& spec, const Inputs& inputs, OutRule rule);
// `self` must have the result's shape. safe: the body may read and write `self` at once; overlapping: its elements may share memory.
Written written_inplace(const char* op, const Tensor& self, const OutSpec& spec, bool safe, bool overlapping = false);

// Errors: `out` has not the dtype that the call names.
void check_named_dtype(const char* op, std::optional<ScalarType> dtype, const Tensor& out);

// As written_out, for a result that has been computed.
void store_out(const char* op, const Tensor& out, const Tensor& result, OutDtype dtype);
// The same for results that come from no tensors, or are drawn: `out` is resized without a warning.
void store_factory_out(const char* op, const Tensor& out, const Tensor& result, OutDtype dtype);
// `self`, or a copy of it where gradients are recorded, whose history may need what the in-place form is about to overwrite.
Tensor kept_input(const Tensor& self);
Tensor& store_inplace(const char* op, Tensor& self, const Tensor& result);

// Warns where `out` has elements and another shape: more often than not that is a mistake.
void warn_of_resize(const char* op, const Tensor& out, IntArrayRef sizes);
// Makes `out` of this shape if it is not; strides empty: contiguous.
void resize_output(const Tensor& out, IntArrayRef sizes, IntArrayRef strides = {});
void check_castable(const char* op, ScalarType from, ScalarType to);
// Errors unless `out` may be written with results of this dtype.
void check_out_dtype(const char* op, ScalarType result, const Tensor& out, OutDtype rule);
// Errors if `out` shares memory with an input.
void check_apart(const char* op, const Tensor& out, const Inputs& inputs);
// Whether several elements of a tensor are one, as after expand().
bool is_expanded(const Tensor& t);
// Errors unless no two elements of `out` share memory.
void check_no_internal_overlap(const char* op, const Tensor& out);
// For operators that may write one place several times.
void warn_of_internal_overlap(const char* op, const Tensor& self);
// Errors if `out` shares memory with an input, unless they are the same array.
void check_no_partial_overlap(const char* op, const Tensor& out, const Tensor& input);
void check_no_partial_overlap(const char* op, const Tensor& out, const Inputs& inputs);

}  // namespace cresset::ops
