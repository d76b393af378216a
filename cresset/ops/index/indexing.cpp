#include "cresset/ops/index/indexing_checks.h"

#include <cstring>

#include "cresset/base/warning.h"
#include "cresset/core/batched.h"
#include "cresset/core/fake_mode.h"
#include "cresset/core/observed.h"
#include "cresset/dispatch/listen.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/support.h"

namespace cresset::indexing {

namespace {

// Tensor indices that remain after integers, slices, None and Ellipsis have been applied as views.
struct Applied {
  Tensor view;
  std::vector<std::optional<Tensor>> tensors;  // one entry per dimension of view, trailing ones left out
  bool any_tensor = false;
  // The first mask that is not of the shape that it masks.
  struct Misfit {
    Tensor mask;
    int64_t dim;
    DimVector sizes;
    int64_t at;
  };
  std::optional<Misfit> misfit = std::nullopt;
};

int64_t consumed_dims(const TensorIndex& i) {
  switch (i.type()) {
    case TensorIndexType::None:
    case TensorIndexType::Ellipsis:
    case TensorIndexType::Boolean: return 0;
    case TensorIndexType::Tensor: {
      const ScalarType t = i.tensor().scalar_type();
      return t == ScalarType::Bool || t == ScalarType::Byte ? i.tensor().dim() : 1;
    }
    default: return 1;
  }
}

// Masks stay masks where the operator says what it makes of them: without data, and where calls are heard, as PyTorch's operators get them.
bool stays_mask(const Tensor& t) { return t.lacks_data() || dispatch::is_listening() || are_methods_observed(); }

// Where sizes may be symbols, of the tensor or of the mode that makes it fake: the knowledge of them.
SymbolicShapes* shapes_of(const Tensor& t) {
  if (is_fake(*t.impl()) && t.has_storage()) return t.impl()->storage()->fake_mode()->shapes();
  const FakeMode* mode = layer_state().fake_mode;
  return CRESSET_UNLIKELY(mode != nullptr) ? mode->shapes() : nullptr;
}
bool reaches_end(const Tensor& t, int64_t dim, int64_t stop) {
  if (stop == INT64_MAX) return true;
  SymbolicShapes* const shapes = shapes_of(t);
  return CRESSET_UNLIKELY(shapes != nullptr) ? shapes->reaches(stop, t.size(dim)) : stop >= t.size(dim);
}

Applied apply_views(const Tensor& self, ArrayRef<TensorIndex> indices) {
  int64_t consumed = 0;
  for (const auto& i : indices) consumed += consumed_dims(i);
  CRESSET_CHECK_INDEX(consumed == 0 || self.dim() > 0, "index: invalid index of a 0-dim tensor: more indices than its dimensions, got ", consumed);
  CRESSET_CHECK_INDEX(consumed <= self.dim(), "index: more indices than dimensions of the tensor, ", self.dim(), ", got ", consumed);
  Applied a{self, {}, false};
  int64_t dim = 0, behind = 0;  // masks that stay masks stand for several dimensions
  int64_t shift = 0;            // from a dimension of the view to one of self, for messages
  auto put_tensor = [&](Tensor t) {
    while (static_cast<int64_t>(a.tensors.size()) < dim - behind) a.tensors.emplace_back();
    a.tensors.emplace_back(std::move(t));
    a.any_tensor = true;
  };
  for (const auto& i : indices) {
    switch (i.type()) {
      case TensorIndexType::None:
        a.view = a.view.unsqueeze(dim++);
        shift--;
        break;
      case TensorIndexType::Ellipsis: dim += self.dim() - consumed; break;
      case TensorIndexType::Integer: {
        const int64_t n = a.view.size(dim);
        CRESSET_CHECK_INDEX((i.integer() >= -n && i.integer() < n) || shapes_of(a.view), "index ", i.integer(), " is out of bounds for dimension ", dim + shift,
                            " with size ", n);
        a.view = a.view.select(dim, i.integer());
        shift++;
        break;
      }
      case TensorIndexType::Slice: {
        const Slice& s = i.slice();
        CRESSET_CHECK_VALUE(s.step() > 0, "slice: step must be greater than zero, got ", s.step());
        // Who writes calls down, for tensors of other sizes too, is told of bounds that are whole here.
        const bool told = s.stop() != INT64_MAX && dispatch::listener_at(dispatch::ListenPlace::above_layers);
        if (told || s.start() != 0 || s.step() != 1 || !reaches_end(a.view, dim, s.stop())) a.view = a.view.slice(dim, s.start(), s.stop(), s.step());
        dim++;
        break;
      }
      case TensorIndexType::Boolean:
        a.view = a.view.unsqueeze(dim);
        put_tensor(i.boolean() ? zeros({1}, kLong) : empty({0}, kLong));
        dim++;
        break;
      case TensorIndexType::Tensor: {
        const Tensor& t = i.tensor();
        const bool mask = t.scalar_type() == ScalarType::Bool || t.scalar_type() == ScalarType::Byte;
        if (t.scalar_type() == ScalarType::Byte) warn("index: indexing with dtype torch.uint8 is now deprecated; give the mask dtype bool");
        if (t.dim() == 0 && is_integral_type(t.scalar_type(), false) && !mask && !as_batched(t)) {
          // A 0-d integer tensor acts as an integer.
          a.view = a.view.select(dim, t.item<int64_t>());
          shift++;
          break;
        }
        if (t.dim() == 0 && mask) {
          a.view = a.view.unsqueeze(dim);
          put_tensor(t.item().to<bool>() ? zeros({1}, kLong) : empty({0}, kLong));
          dim++;
          break;
        }
        if (!mask) {
          put_tensor(t);
          dim++;
          break;
        }
        if (!a.misfit)
          for (int64_t d = 0; d < t.dim(); d++)
            if (t.size(d) != a.view.size(dim + d)) a.misfit = Applied::Misfit{t, d, DimVector(a.view.sizes()), dim + d};
        if (stays_mask(t)) {
          put_tensor(t);
          dim += t.dim();
          behind += t.dim() - 1;
          break;
        }
        for (const Tensor& positions : t.nonzero().unbind(1)) {
          put_tensor(positions);
          dim++;
        }
        break;
      }
    }
  }
  return a;
}

// The same, with a look at the tensors, which comes after all that makes views.
Applied apply(const Tensor& self, ArrayRef<TensorIndex> indices) {
  Applied a = apply_views(self, indices);
  CRESSET_CHECK_INDEX(!a.misfit, "index: the shape of the mask ", a.misfit->mask.sizes(), " at index ", a.misfit->dim,
                      " does not fit the indexed tensor of shape ", a.misfit->sizes, " at index ", a.misfit->at);
  for (const auto& t : a.tensors)
    CRESSET_CHECK_INDEX(!t || stays_mask(*t) || t->scalar_type() == kLong || t->scalar_type() == kInt,
                        "tensors used as indices must be int64, int32, uint8 or bool, got ", *t);
  return a;
}

// x[True] alone is all of x under a new dimension, and a view; x[False] is nothing.
bool is_boolean(ArrayRef<TensorIndex> indices) { return indices.size() == 1 && indices[0].type() == TensorIndexType::Boolean; }

// One mask and no other tensor: assigning one element to what it selects is filling, which converts. False: something else.
bool fill_masked(const Tensor& self, ArrayRef<TensorIndex> indices, const Tensor& value) {
  const TensorIndex* found = nullptr;
  int64_t consumed = 0, before = 0;
  std::vector<TensorIndex> others;
  for (const auto& i : indices) consumed += consumed_dims(i);
  for (const auto& i : indices) {
    const bool tensor = i.type() == TensorIndexType::Tensor;
    const bool mask = tensor && (i.tensor().scalar_type() == kBool || i.tensor().scalar_type() == kByte) && i.tensor().dim() > 0;
    if (i.type() == TensorIndexType::Boolean || (tensor && !mask && i.tensor().dim() > 0) || (mask && found)) return false;
    if (tensor && !mask && (i.tensor().scalar_type() == kBool || i.tensor().scalar_type() == kByte)) return false;
    if (mask) {
      found = &i;
      for (int64_t d = 0; d < i.tensor().dim(); d++) others.emplace_back(Slice());
      continue;
    }
    others.push_back(i);
    if (found) continue;
    if (i.type() == TensorIndexType::Ellipsis) before += self.dim() - consumed;
    else if (i.type() == TensorIndexType::None || i.type() == TensorIndexType::Slice) before++;
  }
  if (!found || consumed > self.dim() || (dispatch::is_listening() && !as_batched(found->tensor()))) return false;
  Tensor mask = found->tensor();
  const Tensor view = apply_views(self, others).view;
  for (int64_t d = 0; d < mask.dim(); d++)
    if (mask.size(d) != view.size(before + d)) return false;
  CRESSET_CHECK(mask.scalar_type() == kBool, "masked_fill_: only boolean masks are supported, got ", mask.scalar_type());
  while (mask.dim() < view.dim() - before) mask = mask.unsqueeze(-1);
  Tensor target = view;
  bool overlapping = false;
  for (int64_t d = 0; d < view.dim(); d++) overlapping = overlapping || (view.stride(d) == 0 && view.size(d) > 1);
  // One number may be written over itself.
  if (overlapping && !value.requires_grad() && !value.lacks_data()) {
    warn("index: setting through a mask in an expanded tensor is deprecated; clone() it first");
    target.masked_fill_(mask, value.item());
    return true;
  }
  target.masked_fill_(mask, value.reshape(IntArrayRef()));
  return true;
}

// Strips leading dimensions of size 1 that the destination does not have, as assignment in NumPy does.
Tensor strip_leading_ones(const Tensor& value, int64_t dims) {
  Tensor v = value;
  while (v.dim() > dims && v.size(0) == 1) v = v.squeeze(0);
  return v;
}

// Broadcast to where it goes, so that memory shared with a value that is repeated is no reason to refuse.
// A number is copied to each place, as a tensor would be: fill_ alone would take an expanded tensor.
template <class Number> void fill_places(const Tensor& places, const Number& value) {
  ops::check_no_internal_overlap("copy_", places);
  places.fill_(value);
}

void assign(const Tensor& target, const Tensor& value) {
  const Tensor v = strip_leading_ones(value, target.dim());
  // A single element is read before anything is written.
  if (v.dim() == 0 && target.dim() > 0 && v.device().is_cpu() && target.device().is_cpu()) return fill_places(target, v);
  target.copy_(v.sizes() == target.sizes() ? v : v.expand(target.sizes()));
}

}  // namespace

TensorIndex::TensorIndex(const char* text) : type_(TensorIndexType::Ellipsis) {
  CRESSET_CHECK_VALUE(std::strcmp(text, "...") == 0, "index: Expected \"...\" to represent an ellipsis index, but got \"", text, "\"");
}

void check_views(const Tensor& self, ArrayRef<TensorIndex> indices) { apply_views(self, indices); }

Tensor get_item(const Tensor& self, ArrayRef<TensorIndex> indices) {
  const Applied a = apply(self, indices);
  if (a.any_tensor) return cresset::index(a.view, a.tensors);
  return a.view.is_same(self) ? self.alias() : a.view;
}

void set_item(const Tensor& self, ArrayRef<TensorIndex> indices, const Tensor& value) {
  if (is_boolean(indices)) {
    if (!indices[0].boolean()) return;
    assign(self.unsqueeze(0), value);
    return;
  }
  if (value.numel() == 1 && fill_masked(self, indices, value)) return;
  Applied a = apply(self, indices);
  if (!a.any_tensor) {
    assign(a.view, value);
    return;
  }
  // Leading dimensions of size 1 say nothing.
  Tensor v = strip_leading_ones(value.device() == self.device() ? value : value.to(self.device()), 0);
  a.view.index_put_(a.tensors, v);
}

void set_item(const Tensor& self, ArrayRef<TensorIndex> indices, const Scalar& value) {
  if (is_boolean(indices)) {
    if (indices[0].boolean()) fill_places(self.unsqueeze(0), value);
    return;
  }
  // The positions of a mask for each element of a batch are not known.
  for (const TensorIndex& i : indices)
    if (i.type() == TensorIndexType::Tensor && as_batched(i.tensor()) && fill_masked(self, indices, full({}, value, self.options()))) return;
  Applied a = apply(self, indices);
  if (a.any_tensor) {
    const Tensor one = full({}, value, self.options());
    if (!fill_masked(self, indices, one)) a.view.index_put_(a.tensors, one);
  } else fill_places(a.view, value);
}

}  // namespace cresset::indexing

namespace cresset {

using indexing::TensorIndex;

Tensor Tensor::operator[](int64_t index) const {
  CRESSET_CHECK_INDEX(dim() > 0, "index: a 0-dim tensor cannot be indexed; use item() for its value");
  CRESSET_CHECK_INDEX(index >= -size(0) && index < size(0), "index ", index, " is beyond dimension 0, of size ", size(0));
  return select(0, index);
}
Tensor Tensor::operator[](const Tensor& i) const {
  CRESSET_CHECK_INDEX(i.defined() && i.dim() == 0 && is_integral_type(i.scalar_type(), false), "index: expected an integer tensor of no dimensions, got ",
                      i.defined() ? str("shape ", i.sizes(), " and dtype ", i.scalar_type()) : "an undefined tensor", "; index({...}) takes others");
  return (*this)[i.item<int64_t>()];
}
Tensor Tensor::operator[](const Scalar& i) const {
  CRESSET_CHECK_INDEX(i.isIntegral(false), "index: expected an integer, got ", i);
  return (*this)[i.toLong()];
}

namespace {

// C++ has no x[()]: no index at all is a mistake.
ArrayRef<TensorIndex> some(ArrayRef<TensorIndex> indices, const char* op) {
  CRESSET_CHECK_INDEX(!indices.empty(), op, ": Passing an empty index list to Tensor::", op, "() is not valid syntax");
  return indices;
}

}  // namespace

Tensor Tensor::index(ArrayRef<TensorIndex> indices) const { return indexing::get_item(*this, some(indices, "index")); }
Tensor Tensor::index(std::initializer_list<TensorIndex> indices) const { return index(ArrayRef<TensorIndex>(indices)); }
Tensor& Tensor::index_put_(ArrayRef<TensorIndex> indices, const Tensor& value) {
  indexing::set_item(*this, some(indices, "index_put_"), value);
  return *this;
}
Tensor& Tensor::index_put_(ArrayRef<TensorIndex> indices, const Scalar& value) {
  indexing::set_item(*this, some(indices, "index_put_"), value);
  return *this;
}
Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Tensor& value) { return index_put_(ArrayRef<TensorIndex>(indices), value); }
Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Scalar& value) { return index_put_(ArrayRef<TensorIndex>(indices), value); }

}  // namespace cresset
