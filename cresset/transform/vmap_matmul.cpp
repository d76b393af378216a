// Rules of products of vectors and matrices, and of what LAPACK does to batches of matrices.

#include "cresset/ops/functions.h"
#include "cresset/transform/vmap_rules.h"

namespace cresset::func::rules {

static void check_ranks(const BatchCall& c, int64_t first, int64_t second) {
  CRESSET_CHECK(c.tensor(0).dim() == first && c.tensor(1).dim() == second, c.schema.name, ": expected tensors of ", first, " and ", second, " dimensions, got ",
                c.tensor(0).sizes(), " and ", c.tensor(1).sizes());
}

void mm(BatchCall& c) {
  check_ranks(c, 2, 2);
  const Tensor a = c.front(c.tensor(0)), b = c.front(c.tensor(1));
  CRESSET_CHECK(a.size(-1) == b.size(-2), "mm: mat1 and mat2 shapes cannot be multiplied, got ", c.tensor(0).sizes(), " and ", c.tensor(1).sizes());
  c.give(cresset::matmul(a, b));
}

void bmm(BatchCall& c) {
  check_ranks(c, 3, 3);
  CRESSET_CHECK(c.tensor(0).size(0) == c.tensor(1).size(0) && c.tensor(0).size(2) == c.tensor(1).size(1),
                "bmm: expected batches of matrices that can be multiplied, got ", c.tensor(0).sizes(), " and ", c.tensor(1).sizes());
  if (!c.batched(0) || !c.batched(1)) return c.give(cresset::matmul(c.front(c.tensor(0)), c.front(c.tensor(1))));
  const Tensor a = c.front(c.tensor(0)), b = c.front(c.tensor(1));
  const Tensor all = cresset::bmm(a.flatten(0, 1), b.flatten(0, 1));
  c.give(all.view({c.size, a.size(1), a.size(2), b.size(3)}));
}

void mv(BatchCall& c) {
  check_ranks(c, 2, 1);
  const Tensor a = c.front(c.tensor(0)), v = c.front(c.tensor(1));
  CRESSET_CHECK(a.size(-1) == v.size(-1), "mv: size mismatch, got ", c.tensor(0).sizes(), " and ", c.tensor(1).sizes());
  if (!c.batched(1)) return c.give(cresset::matmul(a, v));
  if (!c.batched(0)) return c.give(cresset::mm(v, a.t()));
  c.give(cresset::bmm(a, v.unsqueeze(-1)).squeeze(-1));
}

void dot(BatchCall& c) {
  check_ranks(c, 1, 1);
  const Tensor a = c.front(c.tensor(0)), b = c.front(c.tensor(1));
  CRESSET_CHECK(a.size(-1) == b.size(-1), "dot: inconsistent tensor size, expected the same number of elements, got ", a.size(-1), " and ", b.size(-1));
  CRESSET_CHECK(a.scalar_type() == b.scalar_type(), "dot: the vectors differ in dtype, got ", a.scalar_type(), " and ", b.scalar_type());
  if (!c.batched(1)) return c.give(cresset::mv(a, b));
  if (!c.batched(0)) return c.give(cresset::mv(b, a));
  c.give(cresset::bmm(a.unsqueeze(1), b.unsqueeze(2)).flatten());
}

// Operators in its scope go through the layer of vmap again.
namespace {
class ThroughLayer {
 public:
  ThroughLayer() : saved_(layer_state().hidden) { layer_state().set_hidden(static_cast<uint8_t>(saved_ & ~layer_bit(Layer::Vmap))); }
  ~ThroughLayer() { layer_state().set_hidden(saved_); }
  ThroughLayer(const ThroughLayer&) = delete;
  ThroughLayer& operator=(const ThroughLayer&) = delete;

 private:
  const uint8_t saved_;
};
}  // namespace

// beta * self + alpha * product, on elements.
template <Tensor (*Product)(const Tensor&, const Tensor&)> void add_product(BatchCall& c) {
  const ThroughLayer again;
  const Scalar beta = c.arguments[3].to_scalar(), alpha = c.arguments[4].to_scalar();
  Tensor sum = Product(c.tensor(1), c.tensor(2));
  if (!alpha.is(1)) sum = sum * alpha;
  const Tensor& self = c.tensor(0);
  if (!beta.is(0)) {
    sum = sum + (beta.is(1) ? self : self * beta);
  } else {
    self.expand(sum.sizes());
  }
  c.give_plain(sum);
}

// Rules for functions of matrices. One tensor whose leading dimensions are batches already. An element that is no matrix meets the
// operator as it is, for the batch would become one of its rows or columns.
void leading(BatchCall& c) {
  if (c.tensor(0).dim() < 2) return run_by_element(c);
  Stack values = c.arguments;
  values[0] = c.front(c.tensor(0));
  c.give(c.run(std::move(values)));
}

// Several of them, of equal leading dimensions.
void leading_all(BatchCall& c) {
  int64_t rank = 0;
  for (const Value& v : c.arguments) dispatch::for_each_tensor(v, [&](const Tensor& t) { rank = std::max(rank, t.dim()); });
  for (const Value& v : c.arguments)
    if (v.is_tensor() && v.to_tensor().dim() < std::max<int64_t>(rank, 2)) return run_by_element(c);
  Stack values;
  for (const Value& v : c.arguments) values.push_back(dispatch::map_tensors(v, [&](const Tensor& t) { return c.spread(t).contiguous(); }));
  c.give(c.run(std::move(values)));
}

template void add_product<cresset::mm>(BatchCall& c);
template void add_product<cresset::mv>(BatchCall& c);
template void add_product<cresset::bmm>(BatchCall& c);

}  // namespace cresset::func::rules
