// Factorisations and solvers by LAPACK, one matrix of the batch at a time, the batch cut over our threads.

#include "cresset/ops/linalg/linalg.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "cresset/base/parallel.h"
#include "cresset/core/batched.h"
#include "cresset/dispatch/listen.h"
#include "cresset/kernels/linalg/cpu/small_matrices.h"
#include "cresset/kernels/providers/lapack.h"
#include "cresset/ops/differentiates.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

namespace {

constexpr int64_t kMaxOrder = INT32_MAX;

const kernels::LapackTable& lapack(const char* op) {
  const kernels::LapackTable* table = kernels::lapack();
  CRESSET_CHECK(table, op,
                ": needs LAPACK, which could not be opened; on Debian or Ubuntu apt-get install libopenblas0 installs it for a package that was built ",
                "with it, and libopenblas-dev before building; CRESSET_LAPACK=0 in the environment turns it off");
  return *table;
}

int64_t batch_count(const Tensor& a) {
  int64_t n = 1;
  for (const int64_t size : batch_of(a)) n *= size;
  return n;
}

bool lies_by_columns(const Tensor& t) { return t.transpose(-2, -1).is_contiguous(); }

OutSpec by_columns(IntArrayRef sizes, const Tensor& like) { return {DimVector(sizes), like.scalar_type(), like.device(), column_strides(sizes)}; }
OutSpec plain(IntArrayRef sizes, ScalarType dtype, const Tensor& like) { return {DimVector(sizes), dtype, like.device()}; }

// Dense column-major matrices to work in: an output itself where it lies so, else a temporary that `finish` copies.
class Columns {
 public:
  explicit Columns(const Tensor& out) : out_(out), used_(lies_by_columns(out) ? out : allocate(by_columns(out.sizes(), out))) {}
  Columns(const Tensor& out, const Tensor& start) : Columns(out) { overwrite(used_, start); }
  const Tensor& tensor() const { return used_; }
  void* at(int64_t i) const { return static_cast<char*>(used_.data_ptr()) + i * used_.size(-2) * used_.size(-1) * static_cast<int64_t>(used_.element_size()); }
  int rows() const { return static_cast<int>(used_.size(-2)); }
  int columns() const { return static_cast<int>(used_.size(-1)); }
  int ld() const { return std::max(rows(), 1); }
  void finish() const {
    if (!used_.is_same(out_)) overwrite(out_, used_);
  }

 private:
  const Tensor& out_;
  Tensor used_;
};

// A copy of the matrices, column by column, that a routine may destroy.
Tensor scratch(const Tensor& a) {
  Tensor copy = allocate(by_columns(a.sizes(), a));
  overwrite(copy, a);
  return copy;
}

// A dense vector for each matrix.
template <class T> T* row(const Tensor& t, int64_t i) { return static_cast<T*>(t.data_ptr()) + i * (t.dim() ? t.size(-1) : 1); }
void* row_bytes(const Tensor& t, int64_t i) { return static_cast<char*>(t.data_ptr()) + i * t.size(-1) * static_cast<int64_t>(t.element_size()); }
int32_t* info_at(const Tensor& info, int64_t i) { return static_cast<int32_t*>(info.data_ptr()) + i; }

template <class F> void for_matrices(const Tensor& a, F&& body) {
  const int64_t m = std::max<int64_t>(a.size(-2), 1), n = std::max<int64_t>(a.size(-1), 1);
  const int64_t cost = 64 + std::min<int64_t>(m * n, 1 << 20) * std::min<int64_t>(std::min(m, n), 1 << 10);
  parallel_for(0, batch_count(a), std::max<int64_t>(1, 32768 / cost), body);
}
// body(i), or body(i, work) for routines that take memory.
template <class F> void for_each_matrix(const Tensor& a, F&& body) {
  for_matrices(a, [&](int64_t begin, int64_t end) {
    if constexpr (std::is_invocable_v<F, int64_t, kernels::LapackWork&>) {
      kernels::LapackWork work;
      for (int64_t i = begin; i < end; i++) body(i, work);
    } else {
      for (int64_t i = begin; i < end; i++) body(i);
    }
  });
}

DimVector vector_sizes(const Tensor& a, int64_t n) {
  DimVector sizes(batch_of(a));
  sizes.push_back(n);
  return sizes;
}
int64_t least(const Tensor& a) { return std::min(a.size(-2), a.size(-1)); }

}  // namespace

DimVector column_strides(IntArrayRef sizes) {
  DimVector strides(sizes.size(), 1);
  const int64_t d = static_cast<int64_t>(sizes.size());
  int64_t step = 1;
  strides[d - 2] = 1;
  step = std::max<int64_t>(sizes[d - 2], 1);
  strides[d - 1] = step;
  step *= std::max<int64_t>(sizes[d - 1], 1);
  for (int64_t i = d - 3; i >= 0; i--) {
    strides[i] = step;
    step *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

void check_inexact(const char* op, const Tensor& a) {
  const ScalarType t = a.scalar_type();
  CRESSET_CHECK(is_floating_type(t) || is_complex_type(t), op, ": expected a floating or complex dtype, got ", t);
  CRESSET_CHECK_NOT_IMPLEMENTED(t == kFloat || t == kDouble || t == kComplexFloat || t == kComplexDouble, op,
                                ": low precision dtypes not supported, got dtype ", t);
}

void check_matrix(const char* op, const Tensor& a, const char* name) {
  CRESSET_CHECK(a.dim() >= 2, op, ": the input tensor ", name, " must have at least 2 dimensions, got shape ", a.sizes());
  CRESSET_CHECK(a.size(-2) <= kMaxOrder && a.size(-1) <= kMaxOrder, op, ": matrices have at most ", kMaxOrder, " rows and columns, got shape ", a.sizes());
}

void check_square(const char* op, const Tensor& a, const char* name) {
  check_matrix(op, a, name);
  CRESSET_CHECK(a.size(-1) == a.size(-2), op, ": ", name, ": expected batches of square matrices, got ", a.size(-2), " by ", a.size(-1), " matrices");
}

void check_same_kind(const char* op, const Tensor& a, const Tensor& b) {
  CRESSET_CHECK(a.scalar_type() == b.scalar_type(), op, ": expected all matrices to have the same dtype, got ", a.scalar_type(), " and ", b.scalar_type());
  CRESSET_CHECK(a.device() == b.device(), op, ": expected all tensors to be on the same device, got ", a.device(), " and ", b.device());
}

void check_finite(const char* op, const Tensor& given) {
  const Tensor& a = physical(given);
  if (a.numel() == 0) return;
  // One pass where all is well: a sum is finite only where its terms are.
  const Tensor parts = a.is_complex() ? cresset::view_as_real(a.resolve_conj()) : a;
  if (std::isfinite(parts.sum().item().to<double>())) return;
  const Tensor bad = a.isfinite().logical_not().flatten(-2).any(-1).reshape({-1});
  if (!bad.any().item().to<bool>()) return;
  const int64_t i = bad.to(kInt).argmax(std::nullopt).item().to<int64_t>();
  throw LinAlgError(a.dim() > 2 ? str(op, ": (Batch element ", i, "): the matrix holds values that are not finite, so nothing converges")
                                : str(op, ": the matrix holds values that are not finite, so nothing converges"));
}

namespace {

// A step that modes see before the check, and may refuse by themselves.
void seen_check(const Tensor&, std::string_view, bool) {}
const dispatch::Op<void(const Tensor&, std::string_view, bool)> kCheckErrors("_linalg_check_errors",
                                                                             "_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()", 0,
                                                                             nullptr, &seen_check, &seen_check, nullptr, nullptr);

}  // namespace

void check_info(const char* op, const Tensor& given, Failure failure) {
  if (dispatch::is_listening()) dispatch::call(kCheckErrors, dispatch::key_of(given), given, std::string_view(op), given.dim() == 0);
  const Tensor& info = physical(given);
  if (info.lacks_data() || info.numel() == 0) return;
  const Tensor dense = info.cpu().contiguous();
  const auto* values = static_cast<const int32_t*>(dense.data_ptr());
  for (int64_t i = 0; i < dense.numel(); i++) {
    if (values[i] == 0) continue;
    const std::string where = dense.dim() > 0 ? str(op, ": (Batch element ", i, "): ") : str(op, ": ");
    const int order = values[i];
    CRESSET_CHECK(order > 0, where, "argument ", -order, " of LAPACK's routine has an illegal value");
    switch (failure) {
      case Failure::not_positive_definite:
        throw LinAlgError(
            str(where, "the matrix has no Cholesky factor, since it is not positive definite (leading minor of order ", order, " is not positive-definite)."));
      case Failure::singular_factor:
        throw LinAlgError(str(where, "U[", order, ",", order, "] is zero, by which lu_solve would divide; linalg.lu and ",
                              "linalg.lu_factor_ex factorize such matrices too"));
      case Failure::singular_inverse: throw LinAlgError(str(where, "The diagonal element ", order, " is zero: the matrix is singular and has no inverse"));
      case Failure::singular_solve:
        throw LinAlgError(str(where, "The solver failed because the input matrix is singular (diagonal element ", order, " of U is zero)."));
      case Failure::no_eigenvalues:
        throw LinAlgError(
            str(where, "the eigenvalues did not converge: the matrix is ill-conditioned, or many of them are equal (LAPACK's code ", order, ")."));
      case Failure::no_singular_values:
        throw LinAlgError(
            str(where, "the singular values did not converge: the matrix is ill-conditioned, or many of them are equal (LAPACK's code ", order, ")."));
      case Failure::singular_ldl: throw LinAlgError(str(where, "The diagonal block ", order, " of D is zero: using it in ldl_solve would divide by zero."));
    }
  }
}

Tensor permutation_of(const Tensor& lu, const Tensor& pivots) {
  // Modes and graphs see it as an operator: what is computed below from the numbers would be a constant to them.
  if (dispatch::is_listening() && lu.size(-2) > 0) return cresset::real(std::get<0>(cresset::lu_unpack(lu.detach(), pivots, false, true))).argmax(-2);
  return permutation_of(pivots, lu.size(-2));
}

namespace {

// By operators alone, of which whoever writes a graph hears.
Tensor heard_permutation(const Tensor& pivots, int64_t rows) {
  DimVector sizes(pivots.sizes());
  sizes.back() = rows;
  const Tensor with = pivots.to(kLong) - 1;
  Tensor result = cresset::arange(rows, with.options()).expand(sizes);
  for (int64_t r = 0; r < pivots.size(-1); r++) {
    const Tensor place = with.narrow(-1, r, 1), here = result.narrow(-1, r, 1), there = result.gather(-1, place);
    result = result.scatter(-1, place, here).slice_scatter(there, -1, r, r + 1);
  }
  return result;
}

}  // namespace

Tensor permutation_of(const Tensor& pivots, int64_t rows) {
  if (dispatch::is_listening()) return heard_permutation(pivots, rows);
  if (const BatchedImpl* b = as_batched(pivots)) return make_batched(permutation_of(b->value().movedim(b->batch_dim(), 0), rows), 0, b->level());
  const int64_t k = pivots.size(-1);
  DimVector sizes(pivots.sizes());
  sizes.back() = rows;
  if (pivots.lacks_data()) return cresset::empty(sizes, TensorOptions(kLong).device(pivots.device()));
  if (!pivots.is_cpu()) return permutation_of(pivots.cpu(), rows).to(pivots.device());
  const Tensor result = allocate({sizes, kLong, pivots.device()});
  const Tensor exchanged = pivots.contiguous();
  const int64_t count = exchanged.numel() ? exchanged.numel() / k : result.numel() / std::max<int64_t>(rows, 1);
  for (int64_t i = 0; i < count; i++) {
    auto* permutation = static_cast<int64_t*>(result.data_ptr()) + i * rows;
    for (int64_t r = 0; r < rows; r++) permutation[r] = r;
    const auto* with = static_cast<const int32_t*>(exchanged.data_ptr()) + i * k;
    for (int64_t r = 0; r < k; r++) {
      CRESSET_CHECK(with[r] >= 1 && with[r] <= rows, "lu: pivots must be between 1 and ", rows, ", got ", static_cast<int64_t>(with[r]));
      std::swap(permutation[r], permutation[with[r] - 1]);
    }
  }
  return result;
}

Tensor small_solution(const Tensor& lu, const Tensor& pivots, const Tensor& b) {
  const int64_t n = lu.size(-1), columns = b.defined() ? b.size(-1) : n;
  if (differentiates(lu) || differentiates(b) || lu.lacks_data() || (b.defined() && b.lacks_data())) return {};
  if (!lu.is_cpu() || n * n * columns > kernels::kSmallSystem || !lies_by_columns(lu) || !pivots.is_contiguous()) return {};
  if (b.defined() && batch_of(b) != batch_of(lu)) return {};
  const Tensor x = allocate(by_columns(with_matrix(batch_of(lu), n, columns), lu));
  Tensor right;
  int64_t strides[3] = {};
  if (b.defined()) {
    right = b.resolve_conj().resolve_neg();
    if (b.dim() > 3) right = right.contiguous();
    strides[0] = right.stride(-2);
    strides[1] = right.stride(-1);
    strides[2] = b.dim() == 3 ? right.stride(0) : n * columns;
  }
  const auto size = static_cast<int64_t>(x.element_size());
  for_matrices(lu, [&](int64_t begin, int64_t end) {
    const auto matrices = [&](const Tensor& t, int64_t step) { return static_cast<char*>(t.data_ptr()) + begin * step * size; };
    kernels::call(kernels::small_lu_solve_stub)(x.scalar_type(), end - begin, static_cast<int>(n), static_cast<int>(columns), matrices(lu, n * n),
                                                static_cast<const int32_t*>(pivots.data_ptr()) + begin * n, b.defined() ? matrices(right, strides[2]) : nullptr,
                                                strides, matrices(x, n * columns));
  });
  return x;
}

Tensor shortest_solution(const Tensor& a, const Tensor& b, double rcond, const Tensor& rank) {
  const auto& table = lapack("linalg.lstsq");
  const int64_t m = a.size(-2), n = a.size(-1);
  const Tensor matrices = scratch(a), room = allocate(by_columns({a.size(0), std::max(m, n), b.size(-1)}, b));
  overwrite(room.narrow(-2, 0, m), b);
  const Columns work(matrices), x(room);
  for_each_matrix(matrices, [&](int64_t i, kernels::LapackWork& memory) {
    int found = 0;
    table.gelsy(memory, a.scalar_type(), work.rows(), work.columns(), x.columns(), work.at(i), work.ld(), x.at(i), x.ld(), rcond, &found);
    *row<int64_t>(rank.unsqueeze(-1), i) = found;
  });
  return room.narrow(-2, 0, n);
}

bool known_any(const Tensor& mask) { return !physical(mask).lacks_data() && physical(mask).any().item().to<bool>(); }

namespace meta {

OutSpecs linalg_cholesky_ex(const Tensor& self, bool, bool) {
  check_square("linalg.cholesky", self);
  check_inexact("linalg.cholesky", self);
  return {by_columns(self.sizes(), self), plain(batch_of(self), kInt, self)};
}

OutSpecs linalg_lu_factor_ex(const Tensor& a, bool pivot, bool) {
  check_matrix("linalg.lu_factor", a);
  check_inexact("linalg.lu_factor", a);
  CRESSET_CHECK(pivot || !a.device().is_cpu(), "linalg.lu_factor: expected pivot=True on the CPU, got False");
  return {by_columns(a.sizes(), a), plain(vector_sizes(a, least(a)), kInt, a), plain(batch_of(a), kInt, a)};
}

OutSpecs linalg_ldl_factor_ex(const Tensor& self, bool, bool) {
  check_square("linalg.ldl_factor", self);
  check_inexact("linalg.ldl_factor", self);
  return {by_columns(self.sizes(), self), plain(vector_sizes(self, self.size(-1)), kInt, self), plain(batch_of(self), kInt, self)};
}

OutSpec linalg_ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool) {
  const char* op = "linalg.ldl_solve";
  check_square(op, ld, "LD");
  check_matrix(op, b, "B");
  check_same_kind(op, ld, b);
  check_inexact(op, ld);
  CRESSET_CHECK(is_integral_type(pivots.scalar_type(), false), op, ": expected pivots of an integer dtype, got ", pivots.scalar_type());
  CRESSET_CHECK(pivots.sizes() == ld.sizes().slice(0, ld.dim() - 1), op, ": LD.shape[:-1] and pivots.shape differ, got ", ld.sizes(), " and ", pivots.sizes());
  CRESSET_CHECK(ld.size(-1) == b.size(-2), op, ": incompatible matrix sizes, each LD is ", ld.size(-2), " by ", ld.size(-1), " but each B is ", b.size(-2),
                " by ", b.size(-1));
  return by_columns(with_matrix(broadcast_shapes(batch_of(ld), batch_of(b)), b.size(-2), b.size(-1)), b);
}

OutSpec linalg_solve_triangular(const Tensor& self, const Tensor& b, bool, bool left, bool) {
  const char* op = "linalg.solve_triangular";
  check_square(op, self);
  check_matrix(op, b, "B");
  check_same_kind(op, self, b);
  check_inexact(op, self);
  CRESSET_CHECK(self.size(-1) == b.size(left ? -2 : -1), op, ": incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B", ", got ",
                self.sizes(), " and ", b.sizes());
  return by_columns(with_matrix(broadcast_shapes(batch_of(self), batch_of(b)), b.size(-2), b.size(-1)), b);
}

OutSpecs _linalg_qr(const Tensor& a, std::string_view mode) {
  check_matrix("linalg.qr", a);
  check_inexact("linalg.qr", a);
  const int64_t m = a.size(-2), n = a.size(-1), k = least(a);
  if (mode == "raw") return {by_columns(a.sizes(), a), plain(vector_sizes(a, k), a.scalar_type(), a)};
  CRESSET_CHECK(mode == "reduced" || mode == "complete" || mode == "r", "linalg.qr: received unrecognized mode '", std::string(mode),
                "', expected one of 'reduced' (default), 'r', or 'complete'");
  const int64_t rank = mode == "complete" ? m : k;
  const OutSpec r = by_columns(with_matrix(batch_of(a), rank, n), a);
  return {mode == "r" ? plain(IntArrayRef(0), a.scalar_type(), a) : by_columns(with_matrix(batch_of(a), m, rank), a), r};
}

OutSpecs _linalg_eigh(const Tensor& a, std::string_view uplo, bool compute_v) {
  check_square("linalg.eigh", a);
  check_inexact("linalg.eigh", a);
  const bool known = uplo == "L" || uplo == "U" || uplo == "l" || uplo == "u";
  CRESSET_CHECK(known, "linalg.eigh: expected UPLO argument to be 'L' or 'U', got ", std::string(uplo));
  return {plain(vector_sizes(a, a.size(-1)), to_real_type(a.scalar_type()), a),
          compute_v ? by_columns(a.sizes(), a) : plain(IntArrayRef(0), a.scalar_type(), a)};
}

OutSpecs _linalg_eig(const Tensor& a, bool compute_v) {
  check_square("linalg.eig", a);
  check_inexact("linalg.eig", a);
  OutSpec vectors = compute_v ? a.is_meta() ? plain(a.sizes(), a.scalar_type(), a) : by_columns(a.sizes(), a) : plain(IntArrayRef(0), a.scalar_type(), a);
  vectors.dtype = to_complex_type(a.scalar_type());
  return {plain(vector_sizes(a, a.size(-1)), vectors.dtype, a), vectors};
}

OutSpecs _linalg_svd(const Tensor& a, bool full_matrices, bool compute_uv, std::optional<std::string_view> driver) {
  check_matrix("linalg.svd", a);
  check_inexact("linalg.svd", a);
  CRESSET_CHECK(!driver, "linalg.svd: driver is for CUDA tensors, got a tensor elsewhere");
  const int64_t m = a.size(-2), n = a.size(-1), k = least(a);
  const OutSpec none = plain(IntArrayRef(0), a.scalar_type(), a), values = plain(vector_sizes(a, k), to_real_type(a.scalar_type()), a);
  if (!compute_uv) return {none, values, none};
  const DimVector rows = with_matrix(batch_of(a), full_matrices ? n : k, n);
  // On the meta device PyTorch says what an accelerator's library would give.
  return {by_columns(with_matrix(batch_of(a), m, full_matrices ? m : k), a), values, a.is_meta() ? plain(rows, a.scalar_type(), a) : by_columns(rows, a)};
}

}  // namespace meta

namespace cpu {

void linalg_cholesky_ex(const Tensor& self, bool upper, bool check_errors, const Tensor& l, const Tensor& info) {
  const auto& table = lapack("linalg.cholesky");
  const Columns factor(l, upper ? self.triu() : self.tril());
  const Dense found(info);
  if (self.size(-1) <= kernels::kSmallCholesky)
    for_matrices(factor.tensor(), [&](int64_t begin, int64_t end) {
      kernels::call(kernels::small_cholesky_stub)(self.scalar_type(), upper, end - begin, factor.rows(), factor.at(begin), info_at(found.tensor(), begin));
    });
  else
    for_each_matrix(factor.tensor(),
                    [&](int64_t i) { *info_at(found.tensor(), i) = table.potrf(self.scalar_type(), upper, factor.rows(), factor.at(i), factor.ld()); });
  factor.finish();
  found.finish();
  if (check_errors) check_info("linalg.cholesky_ex", info, Failure::not_positive_definite);
}

void linalg_lu_factor_ex(const Tensor& a, bool, bool check_errors, const Tensor& lu, const Tensor& pivots, const Tensor& info) {
  const auto& table = lapack("linalg.lu_factor");
  const Columns factors(lu, a);
  const Dense exchanged(pivots), found(info);
  if (a.size(-2) <= kernels::kSmallLu && a.size(-1) <= kernels::kSmallLu)
    for_matrices(factors.tensor(), [&](int64_t begin, int64_t end) {
      kernels::call(kernels::small_lu_stub)(a.scalar_type(), end - begin, factors.rows(), factors.columns(), factors.at(begin),
                                            row<int32_t>(exchanged.tensor(), begin), info_at(found.tensor(), begin));
    });
  else
    for_each_matrix(factors.tensor(), [&](int64_t i) {
      *info_at(found.tensor(), i) =
          table.getrf(a.scalar_type(), factors.rows(), factors.columns(), factors.at(i), factors.ld(), row<int32_t>(exchanged.tensor(), i));
    });
  factors.finish();
  exchanged.finish();
  found.finish();
  if (check_errors) check_info("linalg.lu_factor_ex", info, Failure::singular_factor);
}

void linalg_solve_triangular(const Tensor& self, const Tensor& b, bool upper, bool left, bool unitriangular, const Tensor& out) {
  const auto& table = lapack("linalg.solve_triangular");
  const DimVector batch(batch_of(out));
  const Columns x(out, b.expand(out.sizes()));
  if (out.numel() == 0) return;
  // A triangle that lies row by row is read as the other triangle, transposed.
  const bool by_rows = self.is_contiguous() && !self.is_conj();
  const Tensor triangle = by_rows || lies_by_columns(self) ? self.resolve_conj() : scratch(self);
  const DimVector unit_strides = column_strides(triangle.sizes());
  const int n = static_cast<int>(self.size(-1));
  // Which triangle belongs to matrix i of the result's batch.
  const int64_t count = batch_count(out), dims = static_cast<int64_t>(batch.size()), shift = dims - (triangle.dim() - 2);
  // One triangle for each right side, one after the other, by rows or by columns.
  const bool one_each = triangle.dim() == out.dim() && batch_of(triangle) == IntArrayRef(batch);
  const auto offset = [&](int64_t i) {
    if (one_each) return i * n * n * static_cast<int64_t>(triangle.element_size());
    int64_t at = 0;
    for (int64_t d = dims - 1; d >= 0; d--) {
      const int64_t index = i % batch[d];
      i /= batch[d];
      if (d >= shift && triangle.size(d - shift) != 1) at += index * triangle.stride(d - shift);
    }
    return at * static_cast<int64_t>(triangle.element_size());
  };
  const bool small = static_cast<int64_t>(n) * n * (left ? x.columns() : x.rows()) <= kernels::kSmallSystem;
  // Wide right sides are cut, for threads to share; not by their number, on which no result depends.
  constexpr int kSides = 128;
  const int sides = left ? x.columns() : x.rows(), pieces = small ? 1 : std::max(1, sides / kSides);
  const int64_t cost = static_cast<int64_t>(n) * std::max<int64_t>(x.rows(), 1) * std::max<int64_t>(x.columns(), 1) / pieces;
  const auto solve_small = kernels::call(kernels::small_triangular_stub);
  parallel_for(0, count * pieces, std::max<int64_t>(1, 32768 / std::max<int64_t>(cost, 1)), [&](int64_t begin, int64_t end) {
    // X A = B is A^T X^T = B^T: both sides are read with their strides exchanged.
    if (small) {
      const int64_t row = by_rows == left ? n : 1, column = by_rows == left ? 1 : n, ld = x.ld();
      for (int64_t i = begin; i < end; i++)
        solve_small(out.scalar_type(), upper == left, unitriangular, n, sides, static_cast<const char*>(triangle.data_ptr()) + offset(i), row, column, x.at(i),
                    left ? 1 : ld, left ? ld : 1);
      return;
    }
    for (int64_t i = begin; i < end; i++) {
      const int64_t piece = i % pieces, from = piece * kSides, to = piece + 1 == pieces ? sides : from + kSides;
      char* at = static_cast<char*>(x.at(i / pieces)) + from * (left ? x.ld() : 1) * static_cast<int64_t>(out.element_size());
      table.trsm(out.scalar_type(), left, by_rows ? !upper : upper, by_rows ? kernels::MatrixOp::transposed : kernels::MatrixOp::plain, unitriangular,
                 left ? x.rows() : static_cast<int>(to - from), left ? static_cast<int>(to - from) : x.columns(),
                 static_cast<const char*>(triangle.data_ptr()) + offset(i / pieces), std::max(n, 1), at, x.ld());
    }
  });
  x.finish();
}

void linalg_ldl_factor_ex(const Tensor& self, bool hermitian, bool check_errors, const Tensor& ld, const Tensor& pivots, const Tensor& info) {
  const auto& table = lapack("linalg.ldl_factor");
  const Tensor lower = self.tril();
  const Columns factor(ld, lower);
  const Dense exchanged(pivots), found(info);
  const auto run = [&](int64_t i, kernels::LapackWork& memory) {
    return *info_at(found.tensor(), i) =
               table.sytrf(memory, self.scalar_type(), hermitian, factor.rows(), factor.at(i), factor.ld(), row<int32_t>(exchanged.tensor(), i));
  };
  for_each_matrix(factor.tensor(), run);
  // LAPACK's blocked code leaves columns in which nothing remains as they were. It takes the other where there is memory for one column alone.
  const auto each = [&](const Tensor& t, int64_t i) { return t.reshape({-1, self.size(-2), self.size(-1)}).select(0, i); };
  for (int64_t i = 0; i < batch_count(self); i++) {
    if (*info_at(found.tensor(), i) <= 0) continue;
    overwrite(each(factor.tensor(), i), each(lower, i));
    kernels::LapackWork column;
    column.lengths[0] = factor.ld();
    run(i, column);
  }
  factor.finish();
  exchanged.finish();
  found.finish();
  if (check_errors) check_info("linalg.ldl_factor_ex", info, Failure::singular_ldl);
}

void linalg_ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian, const Tensor& out) {
  const auto& table = lapack("linalg.ldl_solve");
  const DimVector batch(batch_of(out));
  const int64_t n = ld.size(-1);
  const Columns x(out, b.expand(out.sizes()));
  if (out.numel() == 0) return;
  const Tensor factors = scratch(ld.expand(with_matrix(batch, n, n)));
  const Columns from(factors);
  const Tensor exchanged = pivots.to(kInt).expand(vector_sizes(factors, n)).contiguous();
  for_each_matrix(factors, [&](int64_t i) {
    const int32_t* with = row<int32_t>(exchanged, i);
    for (int64_t k = 0; k < n; k++)
      CRESSET_CHECK(with[k] != 0 && std::abs(static_cast<int64_t>(with[k])) <= n, "linalg.ldl_solve: pivots must be between -", n, " and ", n,
                    " and not 0, got ", with[k]);
    table.sytrs(out.scalar_type(), hermitian, from.rows(), x.columns(), from.at(i), from.ld(), with, x.at(i), x.ld());
  });
  x.finish();
}

void _linalg_qr(const Tensor& a, std::string_view mode, const Tensor& q, const Tensor& r) {
  const auto& table = lapack("linalg.qr");
  const int64_t m = a.size(-2), n = a.size(-1), k = least(a);
  const int64_t most = a.scalar_type() == kFloat ? kernels::kSmallQrOfFloat : kernels::kSmallQr;
  const bool small = m <= most && n <= most && !a.is_complex();
  const auto factor = [&, with = kernels::call(kernels::small_qr_stub)](kernels::LapackWork& memory, const Columns& at, int64_t i, void* tau) {
    if (!small || !with(a.scalar_type(), at.rows(), at.columns(), at.at(i), tau))
      table.geqrf(memory, a.scalar_type(), at.rows(), at.columns(), at.at(i), at.ld(), tau);
  };
  if (mode == "raw") {
    const Columns vectors(q, a);
    const Dense tau(r);
    for_each_matrix(vectors.tensor(), [&](int64_t i, kernels::LapackWork& memory) { factor(memory, vectors, i, row_bytes(tau.tensor(), i)); });
    vectors.finish();
    return tau.finish();
  }
  const Tensor vectors = scratch(a), tau = allocate(plain(vector_sizes(a, k), a.scalar_type(), a));
  const Columns work(vectors);
  for_each_matrix(vectors, [&](int64_t i, kernels::LapackWork& memory) { factor(memory, work, i, row_bytes(tau, i)); });
  const int64_t rank = r.size(-2);
  overwrite(r, rank <= m && rank == k ? vectors.narrow(-2, 0, rank).triu() : vectors.triu());
  if (mode == "r") return;
  const Columns product(q);
  const Tensor& target = product.tensor();
  const int64_t given = std::min(n, target.size(-1));
  overwrite(target.narrow(-1, 0, given), vectors.narrow(-1, 0, given));
  if (given < target.size(-1)) target.narrow(-1, given, target.size(-1) - given).zero_();
  for_each_matrix(target, [&](int64_t i, kernels::LapackWork& memory) {
    if (small)
      kernels::call(kernels::small_q_stub)(a.scalar_type(), product.rows(), product.columns(), static_cast<int>(std::min<int64_t>(k, product.columns())),
                                           product.at(i), row_bytes(tau, i));
    else table.orgqr(memory, a.scalar_type(), product.rows(), product.columns(), static_cast<int>(k), product.at(i), product.ld(), row_bytes(tau, i));
  });
  product.finish();
}

void _linalg_eigh(const Tensor& a, std::string_view uplo, bool compute_v, const Tensor& values, const Tensor& vectors) {
  const auto& table = lapack("linalg.eigh");
  check_finite("linalg.eigh", a);
  const bool upper = uplo == "U" || uplo == "u";
  const Tensor info = allocate(plain(batch_of(a), kInt, a)), copy = compute_v ? Tensor() : scratch(a);
  const Columns work = compute_v ? Columns(vectors, a) : Columns(copy);
  const Dense found(values);
  const bool small = a.size(-1) <= kernels::kSmallEigen && !a.is_complex();
  const Tensor beside = compute_v && a.is_complex() && a.size(-1) <= kernels::kUndivided ? cresset::empty_like(values) : Tensor();
  const auto step = kernels::call(kernels::tridiagonal_eigh_stub);
  for_each_matrix(work.tensor(), [&](int64_t i, kernels::LapackWork& memory) {
    *info_at(info, i) = 0;
    if (beside.defined()) {
      void *d = row_bytes(found.tensor(), i), *e = row_bytes(beside, i);
      table.hetrd(memory, a.scalar_type(), upper, work.rows(), work.at(i), work.ld(), d, e);
      if (!step(values.scalar_type(), work.rows(), 2 * int64_t{work.rows()}, d, e, work.at(i))) *info_at(info, i) = work.rows();
      return;
    }
    if (small && kernels::call(kernels::small_eigh_stub)(a.scalar_type(), upper, work.rows(), work.at(i), row_bytes(found.tensor(), i),
                                                         compute_v ? work.at(i) : nullptr))
      return;
    *info_at(info, i) = table.heevd(memory, a.scalar_type(), compute_v, upper, work.rows(), work.at(i), work.ld(), row_bytes(found.tensor(), i));
  });
  if (compute_v) work.finish();
  found.finish();
  check_info("linalg.eigh", info, Failure::no_eigenvalues);
}

void _linalg_eig(const Tensor& a, bool compute_v, const Tensor& values, const Tensor& vectors) {
  const auto& table = lapack("linalg.eig");
  check_finite("linalg.eig", a);
  const Tensor info = allocate(plain(batch_of(a), kInt, a)), copy = scratch(a);
  const Tensor nothing = allocate(by_columns(with_matrix(batch_of(a), 0, 0), values));
  const Columns work(copy), right(compute_v ? vectors : nothing);
  const Dense found(values);
  for_each_matrix(copy, [&](int64_t i, kernels::LapackWork& memory) {
    *info_at(info, i) =
        table.geev(memory, a.scalar_type(), work.rows(), work.at(i), work.ld(), row_bytes(found.tensor(), i), compute_v ? right.at(i) : nullptr, work.ld());
  });
  if (compute_v) right.finish();
  found.finish();
  check_info("linalg.eig", info, Failure::no_eigenvalues);
}

void _linalg_svd(const Tensor& a, bool full_matrices, bool compute_uv, std::optional<std::string_view>, const Tensor& u, const Tensor& s, const Tensor& vh) {
  const auto& table = lapack("linalg.svd");
  check_finite("linalg.svd", a);
  const Tensor info = allocate(plain(batch_of(a), kInt, a)), copy = scratch(a);
  const Columns work(copy);
  const Dense found(s);
  if (!compute_uv) {
    const bool small = a.scalar_type() == kFloat && least(a) <= kernels::kSmallEigen && std::max(a.size(-2), a.size(-1)) <= kernels::kSmallSide;
    for_each_matrix(copy, [&](int64_t i, kernels::LapackWork& memory) {
      char unused[16];
      *info_at(info, i) = 0;
      if (small &&
          kernels::call(kernels::small_singular_values_stub)(work.rows(), work.columns(), static_cast<const float*>(work.at(i)), row<float>(found.tensor(), i)))
        return;
      *info_at(info, i) =
          table.gesdd(memory, a.scalar_type(), 'N', work.rows(), work.columns(), work.at(i), work.ld(), row_bytes(found.tensor(), i), unused, 1, unused, 1);
    });
  } else {
    const Columns left(u), right(vh);
    // LAPACK leaves alone what belongs to no singular value at all.
    if (least(a) == 0)
      for (const Columns* c : {&left, &right})
        if (c->tensor().numel() > 0) overwrite(c->tensor(), cresset::eye(c->rows(), a.options()).expand(c->tensor().sizes()));
    if (least(a) > 0)
      for_each_matrix(copy, [&](int64_t i, kernels::LapackWork& memory) {
        *info_at(info, i) = table.gesdd(memory, a.scalar_type(), full_matrices ? 'A' : 'S', work.rows(), work.columns(), work.at(i), work.ld(),
                                        row_bytes(found.tensor(), i), left.at(i), left.ld(), right.at(i), right.ld());
      });
    else info.zero_();
    left.finish();
    right.finish();
  }
  found.finish();
  check_info("linalg.svd", info, Failure::no_singular_values);
}

}  // namespace cpu

}  // namespace cresset::ops
