// Transforms of vectors and matrices, and of several transforms.

#include <algorithm>
#include <cmath>

#include "cresset/distributions/rows.h"
#include "cresset/distributions/transform_of.h"

namespace cresset::distributions {

Tensor within_unit(const Tensor& y) {
  const Finfo info = finfo(y.scalar_type());
  return y.clamp(Scalar(info.tiny), Scalar(1.0 - info.eps));
}

}  // namespace cresset::distributions

namespace cresset::ops::composite {

using namespace distributions;

namespace {

// `x` with one number before or after the last dimension.
Tensor padded(const Tensor& x, bool before, double value) { return pad(x, {before ? 1 : 0, before ? 0 : 1}, "constant", value); }
Tensor without_last(const Tensor& x) { return x.narrow(-1, 0, x.size(-1) - 1); }
// How many parts there are still to be made at each number, less the one made.
Tensor parts_left(const Tensor& x) { return x.size(-1) + 1 - x.new_ones({x.size(-1)}).cumsum(-1); }

}  // namespace

Tensor _stickbreakingtransform_call(const Tensor& x) {
  const Tensor share = composite::_sigmoidtransform_call(x - parts_left(x).log());
  const Tensor left = (1 - share).cumprod(-1);
  return padded(share, false, 1) * padded(left, true, 1);
}

Tensor _stickbreakingtransform_inverse(const Tensor& y) {
  const Tensor cut = without_last(y);
  const Tensor left = (1 - cut.cumsum(-1)).clamp(Scalar(finfo(y.scalar_type()).tiny));
  return cut.log() - left.log() + parts_left(cut).log();
}

Tensor _stickbreakingtransform_log_abs_det_jacobian(const Tensor& given, const Tensor& y) {
  const Tensor x = given - parts_left(given).log();
  return (-x + log_sigmoid(x) + without_last(y).log()).sum(-1);
}

// The tanh of each number is a partial correlation: row by row, each takes its share of what is left of the row's unit length
// (Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and extended onion method", 2009).
Tensor _corrcholeskytransform_call(const Tensor& given) {
  const Tensor x = given.tanh();
  const double eps = finfo(x.scalar_type()).eps;
  Tensor r = vec_to_tril_matrix(x.clamp(Scalar(-1 + eps), Scalar(1 - eps)), -1);
  const Tensor left = (1 - r * r).sqrt().cumprod(-1);  // of a row's length after each of its numbers
  r = r + eye(r.size(-1), r.options());
  return r * padded(without_last(left), true, 1);
}

Tensor _corrcholeskytransform_inverse(const Tensor& y) {
  const Tensor left = 1 - cumsum(y * y, -1);
  const Tensor vector = tril_matrix_to_vec(y, -1);
  const Tensor length = tril_matrix_to_vec(padded(without_last(left), true, 1), -1);
  const Tensor t = vector / length.sqrt();
  return (t.log1p() - t.neg().log1p()) / 2;  // the inverse of tanh
}

Tensor _corrcholeskytransform_log_abs_det_jacobian(const Tensor& x, const Tensor& y) {
  const Tensor left = 1 - (y * y).cumsum(-1);
  const Tensor stick = 0.5 * tril_matrix_to_vec(left, -2).log().sum(-1);
  return stick - 2 * (x + softplus(-2 * x) - std::log(2.0)).sum(-1);
}

}  // namespace cresset::ops::composite

namespace cresset::distributions {

namespace {

void check_dims(IntArrayRef shape, size_t least) {
  CRESSET_CHECK_VALUE(shape.size() >= least, "Transform: expected at least ", least, " dimensions, got shape ", size_text(shape));
}

constexpr PlainSpec kSoftmax{
    "SoftmaxTransform", constraints::real_vector, constraints::simplex, false, 0, _softmaxtransform_call, _softmaxtransform_inverse, nullptr};
struct Softmax final : PlainTransform<kSoftmax> {
  TransformImpl* copy(int64_t) const override { return new Softmax(*this); }
  Shape forward_shape(IntArrayRef shape) const override {
    check_dims(shape, 1);
    return shape.vec();
  }
  Shape inverse_shape(IntArrayRef shape) const override { return forward_shape(shape); }
};

constexpr PlainSpec kStickBreaking{"StickBreakingTransform",
                                   constraints::real_vector,
                                   constraints::simplex,
                                   true,
                                   0,
                                   _stickbreakingtransform_call,
                                   _stickbreakingtransform_inverse,
                                   _stickbreakingtransform_log_abs_det_jacobian};
struct StickBreaking final : PlainTransform<kStickBreaking> {
  TransformImpl* copy(int64_t) const override { return new StickBreaking(*this); }
  static Shape resized(IntArrayRef shape, int64_t more) {
    check_dims(shape, 1);
    return join(but_last(shape, 1), {shape.back() + more});
  }
  Shape forward_shape(IntArrayRef shape) const override { return resized(shape, 1); }
  Shape inverse_shape(IntArrayRef shape) const override { return resized(shape, -1); }
};

constexpr PlainSpec kCorrCholesky{"CorrCholeskyTransform",
                                  constraints::real_vector,
                                  constraints::corr_cholesky,
                                  true,
                                  0,
                                  _corrcholeskytransform_call,
                                  _corrcholeskytransform_inverse,
                                  _corrcholeskytransform_log_abs_det_jacobian};
struct CorrCholesky final : PlainTransform<kCorrCholesky> {
  TransformImpl* copy(int64_t) const override { return new CorrCholesky(*this); }
  bool equals(const TransformImpl& other) const override { return this == &other; }
  Shape forward_shape(IntArrayRef shape) const override {
    check_dims(shape, 1);
    const int64_t count = shape.back();
    const int64_t size = std::lrint(std::sqrt(0.25 + 2 * static_cast<double>(count)) + 0.5);
    CRESSET_CHECK_VALUE(size * (size - 1) / 2 == count, "CorrCholeskyTransform: expected n (n - 1) / 2 numbers, got ", count);
    return join(but_last(shape, 1), {size, size});
  }
  Shape inverse_shape(IntArrayRef shape) const override {
    check_dims(shape, 2);
    const int64_t size = shape.back();
    CRESSET_CHECK_VALUE(shape[shape.size() - 2] == size, "CorrCholeskyTransform: expected square matrices, got shape ", size_text(shape));
    return join(but_last(shape, 2), {size * (size - 1) / 2});
  }
};

Constraint real_matrix() { return constraints::independent(constraints::real(), 2); }
constexpr PlainSpec kLowerCholesky{"LowerCholeskyTransform",        real_matrix, constraints::lower_cholesky, false, 0, _lowercholeskytransform_call,
                                   _lowercholeskytransform_inverse, nullptr};
constexpr PlainSpec kPositiveDefinite{
    "PositiveDefiniteTransform",        real_matrix, constraints::positive_definite, false, 0, _positivedefinitetransform_call,
    _positivedefinitetransform_inverse, nullptr};

struct Reshape final : TransformOf<Reshape> {
  Reshape(IntArrayRef in, IntArrayRef out) : in_shape(in.vec()), out_shape(out.vec()) {
    CRESSET_CHECK_VALUE(product(in) == product(out), "ReshapeTransform: in_shape and out_shape differ in their number of elements, got ", size_text(in),
                        " and ", size_text(out));
  }
  const char* name() const override { return "ReshapeTransform"; }
  Constraint domain() const override { return constraints::independent(constraints::real(), static_cast<int64_t>(in_shape.size())); }
  Constraint codomain() const override { return constraints::independent(constraints::real(), static_cast<int64_t>(out_shape.size())); }
  Tensor call(const Tensor& x) const override { return x.reshape(join(but_last(x.sizes(), in_shape.size()), out_shape)); }
  Tensor inverse(const Tensor& y) const override { return y.reshape(join(but_last(y.sizes(), out_shape.size()), in_shape)); }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor&) const override { return x.new_zeros(but_last(x.sizes(), in_shape.size())); }
  // `shape` with its end `from` replaced by `to`.
  static Shape replaced(IntArrayRef shape, IntArrayRef from, IntArrayRef to) {
    check_dims(shape, from.size());
    const IntArrayRef end = last(shape, from.size());
    CRESSET_CHECK_VALUE(end == from, "ReshapeTransform: expected a shape that ends in ", size_text(from), ", got ", size_text(shape));
    return join(but_last(shape, from.size()), to);
  }
  Shape forward_shape(IntArrayRef shape) const override { return replaced(shape, in_shape, out_shape); }
  Shape inverse_shape(IntArrayRef shape) const override { return replaced(shape, out_shape, in_shape); }
  Shape in_shape, out_shape;
};

std::vector<Transform> with_caches(std::vector<Transform> parts, int64_t cache_size) {
  if (cache_size)
    for (Transform& t : parts) t = t.with_cache(cache_size);
  return parts;
}

bool all_bijective(const std::vector<Transform>& parts) {
  return std::all_of(parts.begin(), parts.end(), [](const Transform& t) { return t.bijective(); });
}

std::vector<Constraint> sides(const std::vector<Transform>& parts, Constraint (Transform::*side)() const) {
  std::vector<Constraint> found;
  for (const Transform& t : parts) found.push_back((t.*side)());
  return found;
}

TensorOrNumber product_of(const TensorOrNumber& a, const TensorOrNumber& b) {
  if (a.is_number() && b.is_number()) return a.number().as<double>() * b.number().as<double>();
  if (a.is_number()) return a.number() * b.tensor();
  return b.is_number() ? a.tensor() * b.number() : a.tensor() * b.tensor();
}

struct Compose final : TransformOf<Compose> {
  explicit Compose(std::vector<Transform> p) : parts(std::move(p)) {}
  TransformImpl* copy(int64_t cache_size) const override { return new Compose(with_caches(parts, cache_size)); }
  const char* name() const override { return "ComposeTransform"; }
  bool caches() const override { return false; }

  using Side = Constraint (Transform::*)() const;
  // The constraint of one side: that of the outermost part, with the dimensions that the others need.
  Constraint side(bool from_front, Side first, Side last) const {
    if (parts.empty()) return constraints::real();
    const size_t n = parts.size();
    const Constraint outer = (parts[from_front ? 0 : n - 1].*first)();
    int64_t dim = (parts[from_front ? n - 1 : 0].*last)().event_dim();
    for (size_t i = 0; i < n; i++) {
      const Transform& part = parts[from_front ? n - 1 - i : i];
      const int64_t near = (part.*first)().event_dim();
      dim = std::max(dim + near - (part.*last)().event_dim(), near);
    }
    return dim > outer.event_dim() ? constraints::independent(outer, dim - outer.event_dim()) : outer;
  }
  Constraint domain() const override { return side(true, &Transform::domain, &Transform::codomain); }
  Constraint codomain() const override { return side(false, &Transform::codomain, &Transform::domain); }
  bool bijective() const override { return all_bijective(parts); }
  TensorOrNumber sign() const override {
    TensorOrNumber all = 1;
    for (const Transform& part : parts) all = product_of(all, part.sign());
    return all;
  }
  bool equals(const TransformImpl& other) const override { return parts == static_cast<const Compose&>(other).parts; }
  Tensor call(const Tensor& given) const override {
    Tensor x = given;
    for (const Transform& part : parts) x = part(x);
    return x;
  }
  Tensor inverse(const Tensor& given) const override {
    Tensor y = given;
    for (size_t i = parts.size(); i-- > 0;) y = parts[i].inv()(y);
    return y;
  }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override {
    if (parts.empty()) return zeros_like(x);
    std::vector<Tensor> values{x};
    for (size_t i = 0; i + 1 < parts.size(); i++) values.push_back(parts[i](values.back()));
    values.push_back(y);
    int64_t event_dim = domain().event_dim();
    Tensor sum;
    for (size_t i = 0; i < parts.size(); i++) {
      const int64_t in = parts[i].domain().event_dim();
      const Tensor term = sum_rightmost(parts[i].log_abs_det_jacobian(values[i], values[i + 1]), event_dim - in);
      sum = sum.defined() ? sum + term : term;
      event_dim += parts[i].codomain().event_dim() - in;
    }
    return sum;
  }
  Shape forward_shape(IntArrayRef given) const override {
    Shape shape = given.vec();
    for (const Transform& part : parts) shape = part.forward_shape(shape);
    return shape;
  }
  Shape inverse_shape(IntArrayRef given) const override {
    Shape shape = given.vec();
    for (size_t i = parts.size(); i-- > 0;) shape = parts[i].inverse_shape(shape);
    return shape;
  }
  std::string str() const override {
    std::string s = "ComposeTransform(\n    ";
    for (size_t i = 0; i < parts.size(); i++) s += (i ? ",\n    " : "") + parts[i].str();
    return s + "\n)";
  }
  std::vector<Transform> parts;
};

struct Reinterpreted final : TransformOf<Reinterpreted> {
  Reinterpreted(const Transform& b, int64_t n) : base(b), ndims(n) {}
  TransformImpl* copy(int64_t cache_size) const override { return new Reinterpreted(base.with_cache(cache_size), ndims); }
  const char* name() const override { return "IndependentTransform"; }
  Constraint domain() const override { return constraints::independent(base.domain(), ndims); }
  Constraint codomain() const override { return constraints::independent(base.codomain(), ndims); }
  bool bijective() const override { return base.bijective(); }
  TensorOrNumber sign() const override { return base.sign(); }
  Tensor call(const Tensor& x) const override {
    check_dims(x.sizes(), static_cast<size_t>(domain().event_dim()));
    return base(x);
  }
  Tensor inverse(const Tensor& y) const override {
    check_dims(y.sizes(), static_cast<size_t>(codomain().event_dim()));
    return base.inv()(y);
  }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override { return sum_rightmost(base.log_abs_det_jacobian(x, y), ndims); }
  Shape forward_shape(IntArrayRef shape) const override { return base.forward_shape(shape); }
  Shape inverse_shape(IntArrayRef shape) const override { return base.inverse_shape(shape); }
  std::string str() const override { return "IndependentTransform(" + base.str() + ", " + std::to_string(ndims) + ")"; }
  Transform base;
  int64_t ndims;
};

// Pieces along a dimension, each with a transform of its own: of the lengths `lengths`, or (stacked) single slices.
struct Pieces final : TransformOf<Pieces> {
  Pieces(std::vector<Transform> t, int64_t d, std::vector<int64_t> l, bool stacked) : parts(std::move(t)), lengths(std::move(l)), dim(d), stacked(stacked) {
    if (stacked) return;
    if (lengths.empty()) lengths.assign(parts.size(), 1);
    CRESSET_CHECK(lengths.size() == parts.size(), "CatTransform: expected a length for each of ", parts.size(), " transforms, got ", lengths.size());
  }
  TransformImpl* copy(int64_t cache_size) const override { return new Pieces(with_caches(parts, cache_size), dim, lengths, stacked); }
  const char* name() const override { return stacked ? "StackTransform" : "CatTransform"; }
  Constraint side(Constraint (Transform::*which)() const) const {
    return stacked ? constraints::stack(sides(parts, which), dim) : constraints::cat(sides(parts, which), dim, lengths);
  }
  Constraint domain() const override { return side(&Transform::domain); }
  Constraint codomain() const override { return side(&Transform::codomain); }
  bool bijective() const override { return all_bijective(parts); }
  int64_t event_dim() const override {
    if (stacked) return TransformImpl::event_dim();
    int64_t most = 0;
    for (const Transform& t : parts) most = std::max(most, t.event_dim());
    return most;
  }
  std::vector<Tensor> pieces_of(const Tensor& value, const char* what) const {
    CRESSET_CHECK(-value.dim() <= dim && dim < value.dim(), name(), ": dim is out of range, got ", dim, " for ", what, " of ", value.dim(), " dimensions");
    int64_t length = static_cast<int64_t>(parts.size());
    if (!stacked) {
      length = 0;
      for (const int64_t l : lengths) length += l;
    }
    CRESSET_CHECK(value.size(dim) == length, name(), ": expected size ", length, " at dim ", dim, " of ", what, ", got ", value.size(dim));
    return stacked ? value.unbind(dim) : value.split_with_sizes(lengths, dim);
  }
  Tensor together(const std::vector<Tensor>& pieces) const { return stacked ? cresset::stack(pieces, dim) : cresset::cat(pieces, dim); }
  Tensor call(const Tensor& x) const override {
    std::vector<Tensor> pieces = pieces_of(x, "x");
    for (size_t i = 0; i < parts.size(); i++) pieces[i] = parts[i](pieces[i]);
    return together(pieces);
  }
  Tensor inverse(const Tensor& y) const override {
    std::vector<Tensor> pieces = pieces_of(y, "y");
    for (size_t i = 0; i < parts.size(); i++) pieces[i] = parts[i].inv()(pieces[i]);
    return together(pieces);
  }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override {
    const std::vector<Tensor> before = pieces_of(x, "x"), after = pieces_of(y, "y");
    std::vector<Tensor> terms;
    for (size_t i = 0; i < parts.size(); i++) {
      terms.push_back(parts[i].log_abs_det_jacobian(before[i], after[i]));
      if (!stacked) terms[i] = sum_rightmost(terms[i], event_dim() - parts[i].event_dim());
    }
    if (stacked) return cresset::stack(terms, dim);
    const int64_t place = (dim >= 0 ? dim - x.dim() : dim) + event_dim();
    if (place < 0) return cresset::cat(terms, place);
    Tensor sum = 0 + terms[0];
    for (size_t i = 1; i < terms.size(); i++) sum = sum + terms[i];
    return sum;
  }
  std::vector<Transform> parts;
  std::vector<int64_t> lengths;
  int64_t dim;
  bool stacked;
};

}  // namespace

const std::vector<Transform>* parts_of_composition(const TransformImpl& impl) {
  const auto* composition = dynamic_cast<const Compose*>(&impl);
  return composition ? &composition->parts : nullptr;
}

SoftmaxTransform::SoftmaxTransform(int64_t cache_size) : Transform(new Softmax, cache_size) {}
StickBreakingTransform::StickBreakingTransform(int64_t cache_size) : Transform(new StickBreaking, cache_size) {}
CorrCholeskyTransform::CorrCholeskyTransform(int64_t cache_size) : Transform(new CorrCholesky, cache_size) {}
LowerCholeskyTransform::LowerCholeskyTransform(int64_t cache_size) : Transform(new PlainTransform<kLowerCholesky>, cache_size) {}
PositiveDefiniteTransform::PositiveDefiniteTransform(int64_t cache_size) : Transform(new PlainTransform<kPositiveDefinite>, cache_size) {}
ReshapeTransform::ReshapeTransform(IntArrayRef in_shape, IntArrayRef out_shape, int64_t cache_size) : Transform(new Reshape(in_shape, out_shape), cache_size) {}
ComposeTransform::ComposeTransform(std::vector<Transform> parts, int64_t cache_size)
    : Transform(new Compose(with_caches(std::move(parts), cache_size)), cache_size) {}
IndependentTransform::IndependentTransform(const Transform& base_transform, int64_t reinterpreted_batch_ndims, int64_t cache_size)
    : Transform(new Reinterpreted(base_transform.with_cache(cache_size), reinterpreted_batch_ndims), cache_size) {}
CatTransform::CatTransform(std::vector<Transform> tseq, int64_t dim, std::vector<int64_t> lengths, int64_t cache_size)
    : Transform(new Pieces(with_caches(std::move(tseq), cache_size), dim, std::move(lengths), false), cache_size) {}
StackTransform::StackTransform(std::vector<Transform> tseq, int64_t dim, int64_t cache_size)
    : Transform(new Pieces(with_caches(std::move(tseq), cache_size), dim, {}, true), cache_size) {}

Shape ReshapeTransform::in_shape() const { return static_cast<const Reshape&>(impl()).in_shape; }
Shape ReshapeTransform::out_shape() const { return static_cast<const Reshape&>(impl()).out_shape; }
std::vector<Transform> ComposeTransform::parts() const { return static_cast<const Compose&>(impl()).parts; }
Transform IndependentTransform::base_transform() const { return static_cast<const Reinterpreted&>(impl()).base; }
int64_t IndependentTransform::reinterpreted_batch_ndims() const { return static_cast<const Reinterpreted&>(impl()).ndims; }
std::vector<Transform> CatTransform::transforms() const { return static_cast<const Pieces&>(impl()).parts; }
std::vector<int64_t> CatTransform::lengths() const { return static_cast<const Pieces&>(impl()).lengths; }
int64_t CatTransform::dim() const { return static_cast<const Pieces&>(impl()).dim; }
std::vector<Transform> StackTransform::transforms() const { return static_cast<const Pieces&>(impl()).parts; }
int64_t StackTransform::dim() const { return static_cast<const Pieces&>(impl()).dim; }

Transform identity_transform() { return ComposeTransform({}); }

}  // namespace cresset::distributions
