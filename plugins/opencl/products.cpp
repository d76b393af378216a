// Products of matrices and vectors: tiles in local memory, any strides, sums in float.

#include <limits>

#include "call.h"

namespace opencl {

namespace {

const char* const kProduct = R"cl(
#define TILE 16
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void run(long rows, long columns, long inner, long tiles_across, long tiles_down, long ab, long ai, long ak, long bb, long bk, long bj, long cb, long ci, long cj, float beta, float alpha,
         global const T* a, global const T* b, global const T* c, global T* out) {
  local float left[TILE][TILE], right[TILE][TILE + 1];
  const long group = get_group_id(0), batch = group / (tiles_across * tiles_down), tile = group % (tiles_across * tiles_down);
  const int x = get_local_id(0) % TILE, y = get_local_id(0) / TILE;
  const long i = tile / tiles_across * TILE + y, j = tile % tiles_across * TILE + x;
  float sum = 0;
  for (long k = 0; k < inner; k += TILE) {
    left[y][x] = i < rows && k + x < inner ? LOAD(a, batch * ab + i * ai + (k + x) * ak) : 0;
    right[y][x] = k + y < inner && j < columns ? LOAD(b, batch * bb + (k + y) * bk + j * bj) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int n = 0; n < TILE; n++) sum = fma(left[y][n], right[n][x], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i >= rows || j >= columns) return;
  sum *= alpha;
  if (beta != 0) sum = fma(beta, LOAD(c, batch * cb + i * ci + j * cj), sum);
  STORE(out, (batch * rows + i) * columns + j, sum);
}
)cl";

// In float and without local memory: an item computes 6 rows of 16 columns, in registers; the rows of b are contiguous. Faster than tiles by far where
// work groups are loops, as on a CPU.
const char* const kBlocks = R"cl(
#define ROWS 6
kernel void run(ulong count, long rows, long columns, long inner, long down, long across, long groups, long ab, long ag, long ai, long ak, long bb, long bg, long bk, long cb,
                long cg, long ci, long cj, float beta, float alpha, global const float* a, global const float* b, global const float* c, global float* out) {
  const ulong item = get_global_id(0);
  if (item >= count) return;
  const long i0 = item % down * ROWS, j0 = item / down % across * 16, batch = item / (down * across), width = min(columns - j0, 16L);
  a += batch / groups * ab + batch % groups * ag;
  b += batch / groups * bb + batch % groups * bg + j0;
  c += batch / groups * cb + batch % groups * cg;
  long at[ROWS];
  float16 sum[ROWS];
  for (int r = 0; r < ROWS; r++) { at[r] = min(i0 + r, rows - 1) * ai; sum[r] = 0; }
  for (long k = 0; k < inner; k++) {
    float16 v;
    if (width == 16) {
      v = vload16(0, b + k * bk);
    } else {
      float parts[16];
      for (int n = 0; n < 16; n++) parts[n] = n < width ? b[k * bk + n] : 0;
      v = vload16(0, parts);
    }
    for (int r = 0; r < ROWS; r++) sum[r] = fma((float16)(a[at[r] + k * ak]), v, sum[r]);
  }
  for (int r = 0; r < ROWS && i0 + r < rows; r++) {
    float parts[16];
    vstore16(sum[r] * alpha, 0, parts);
    for (int n = 0; n < width; n++) {
      const long i = i0 + r, j = j0 + n;
      out[(batch * rows + i) * columns + j] = beta != 0 ? fma(beta, c[i * ci + j * cj], parts[n]) : parts[n];
    }
  }
}
)cl";

}  // namespace

void multiply_blocks(const Tensor& a, const Tensor& b, const Tensor& c, double beta, double alpha, const Tensor& out) {
  const Tensor rows_of_b = b.stride(-1) == 1 || b.size(-1) == 1 ? b : dense(b);
  const bool grouped = out.dim() == 4;
  const auto group_stride = [&](const Tensor& t) { return grouped ? t.stride(1) : int64_t{0}; };
  const int64_t rows = out.size(-2), columns = out.size(-1), down = (rows + 5) / 6, across = (columns + 15) / 16;
  const int64_t groups = grouped ? out.size(1) : 1, items = out.size(0) * groups * down * across;
  Launch launch(out.device().index(), kBlocks);
  launch.value(static_cast<uint64_t>(items));
  for (const int64_t n : {rows, columns, a.size(-1), down, across, groups}) launch.value(n);
  for (const int64_t n : {a.stride(0), group_stride(a), a.stride(-2), a.stride(-1), rows_of_b.stride(0), group_stride(rows_of_b), rows_of_b.stride(-2)})
    launch.value(n);
  const Tensor& added = c.defined() ? c : out;
  for (const int64_t n : {added.stride(0), group_stride(added), added.stride(-2), added.stride(-1)}) launch.value(n);
  launch.value(static_cast<float>(c.defined() ? beta : 0)).value(static_cast<float>(alpha));
  for (const Tensor* t : {&a, &rows_of_b, &added, &out}) launch.pointer(t->data_ptr());
  launch.run(static_cast<size_t>(items));
}

namespace {

// out = beta c + alpha a b, of three dimensions each; `out` is contiguous.
bool multiply(const Tensor& a, const Tensor& b, const Tensor& c, double beta, double alpha, const Tensor& out) {
  if (!is_floating(out) || a.scalar_type() != out.scalar_type() || b.scalar_type() != out.scalar_type() || !on_device(a) || !on_device(b)) return false;
  if (out.numel() == 0) return true;
  if (out.scalar_type() == ScalarType::Float) {
    multiply_blocks(a, b, c, beta, alpha, out);
    return true;
  }
  const std::string source = prelude() + names_of(out.scalar_type()) + kProduct;
  const int64_t rows = out.size(1), columns = out.size(2), inner = a.size(2), across = (columns + 15) / 16, down = (rows + 15) / 16;
  Launch launch(out.device().index(), source);
  for (const int64_t n : {rows, columns, inner, across, down}) launch.value(n);
  const Tensor& added = c.defined() ? c : out;
  for (const Tensor* t : {&a, &b, &added})
    for (int64_t d = 0; d < 3; d++) launch.value<int64_t>(t->stride(d));
  launch.value(static_cast<float>(c.defined() ? beta : 0)).value(static_cast<float>(alpha));
  for (const Tensor* t : {&a, &b, &added, &out}) launch.pointer(t->data_ptr());
  launch.run(static_cast<size_t>(out.size(0) * across * down * 256), 256);
  return true;
}

// The shapes of a product: which dimensions of the arguments and the result are made of one.
bool product(Call& c, size_t first, bool batched, bool vector, int added) {
  const Tensor &a = c.tensor(first), &b = c.tensor(first + 1);
  if (!is_floating(a) || a.scalar_type() != b.scalar_type() || !on_device(a) || !on_device(b)) return false;
  const std::vector<Tensor> outs = c.results(), writes = dense_for(outs);
  const auto whole = [&](const Tensor& t, bool narrow) {
    Tensor v = narrow ? t.unsqueeze(-1) : t;
    return batched ? v : v.unsqueeze(0);
  };
  Tensor start;
  if (added >= 0) {
    const Tensor& self = c.tensor(static_cast<size_t>(added));
    if (!on_device(self) || self.scalar_type() != a.scalar_type()) return false;
    start = whole(self.expand(outs[0].sizes()), vector);
  }
  const double beta = added >= 0 ? c.number(3) : 0, alpha = added >= 0 ? c.number(4) : 1;
  return multiply(whole(a, false), whole(b, vector), start, beta, alpha, whole(writes[0], vector)) && deliver(c, outs, writes);
}
bool dot(Call& c) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  if (!is_floating(a) || a.scalar_type() != b.scalar_type() || !on_device(a) || !on_device(b)) return false;
  c.meta_results();
  return c.give(cresset::mul(a, b).sum());
}

// --- attention, of products and softmax ---

Tensor scores_of(const Tensor& query, const Tensor& key, const Tensor& mask, bool causal, double scale) {
  Tensor s = query.to(cresset::kFloat).matmul(key.to(cresset::kFloat).transpose(-2, -1)) * scale;
  const Tensor none = cresset::full({}, -std::numeric_limits<double>::infinity(), s.options());
  if (mask.defined()) s = mask.scalar_type() == ScalarType::Bool ? cresset::where(mask, s, none) : s + mask;
  if (causal) s = cresset::where(cresset::ones({s.size(-2), s.size(-1)}, s.options()).tril().ne(0), s, none);
  return s;
}
// e^(s - lse), and 0 in rows that see nothing.
Tensor weights_of(const Tensor& s, const Tensor& lse) {
  const Tensor p = (s - lse.unsqueeze(-1)).exp();
  return cresset::where(p.ne(p), cresset::zeros({}, p.options()), p);
}
bool attention_fits(const Tensor& q, const Tensor& k, const Tensor& v) {
  return is_floating(q) && on_device(k) && on_device(v) && q.scalar_type() == k.scalar_type() && q.scalar_type() == v.scalar_type() && q.numel() > 0;
}
bool attention(Call& c) {
  const Tensor &q = c.tensor(0), &k = c.tensor(1), &v = c.tensor(2), mask = c.has(3) ? c.tensor(3) : Tensor();
  if (!attention_fits(q, k, v)) return false;
  const std::vector<Tensor> outs = c.results();
  const Tensor s = scores_of(q, k, mask, c.flag(4), c.number(5)), lse = s.logsumexp({-1});
  const Tensor out = weights_of(s, lse).matmul(v.to(cresset::kFloat));
  move_elements(outs[0], out);
  move_elements(outs[1], lse);
  return c.give_all(outs);
}
bool attention_backward(Call& c) {
  const Tensor &grad = c.tensor(0), &q = c.tensor(1), &k = c.tensor(2), &v = c.tensor(3), mask = c.has(4) ? c.tensor(4) : Tensor();
  if (!attention_fits(q, k, v)) return false;
  const std::vector<Tensor> outs = c.results();
  const double scale = c.number(8);
  const Tensor p = weights_of(scores_of(q, k, mask, c.flag(7), scale), c.tensor(6).to(cresset::kFloat)), g = grad.to(cresset::kFloat);
  const Tensor inner = (g * c.tensor(5).to(cresset::kFloat)).sum({-1}, true);
  const Tensor ds = p * (g.matmul(v.to(cresset::kFloat).transpose(-2, -1)) - inner) * scale;
  move_elements(outs[0], ds.matmul(k.to(cresset::kFloat)));
  move_elements(outs[1], ds.transpose(-2, -1).matmul(q.to(cresset::kFloat)));
  move_elements(outs[2], p.transpose(-2, -1).matmul(g));
  return c.give_all(outs);
}

}  // namespace

void add_products(cresset::dispatch::Library& m) {
  native(m, "mm", [](Call& c) { return product(c, 0, false, false, -1); });
  native(m, "bmm", [](Call& c) { return product(c, 0, true, false, -1); });
  native(m, "mv", [](Call& c) { return product(c, 0, false, true, -1); });
  native(m, "addmm", [](Call& c) { return product(c, 1, false, false, 0); });
  native(m, "baddbmm", [](Call& c) { return product(c, 1, true, false, 0); });
  native(m, "addmv", [](Call& c) { return product(c, 1, false, true, 0); });
  native(m, "dot", dot);
  native(m, "_attention", attention);
  native(m, "_attention_backward", attention_backward);
}

}  // namespace opencl
