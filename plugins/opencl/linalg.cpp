// Factorisations of small matrices: an item for each matrix of a batch, in order, with sums in double where the device has it.

#include "call.h"

namespace opencl {

namespace {

bool square_floats(const Tensor& a) { return is_single(a) && on_device(a) && a.numel() > 0; }
int64_t batch_of(const Tensor& a) { return a.numel() / (a.size(-1) * a.size(-2)); }

std::string head(DeviceIndex index, const std::string& arguments, const std::string& defines = "") {
  return prelude() + defines + "#define W " + (chip(index).fp64 ? "double" : "float") + "\nkernel void run(long batch, long rows, long columns, " + arguments +
         ") {\n  const long n = get_global_id(0);\n  if (n >= batch) return;\n";
}
// A matrix of the batch in rows, as the kernels below read and write it.
Tensor in_rows(const Tensor& a) {
  const Tensor out = make_like(a);
  move_elements(out, a);
  return out;
}

const char* const kCholesky = R"cl(
  global float* l = a + n * rows * rows;
  int bad = 0;
  for (long j = 0; j < rows; j++) {
    for (long i = j; i < rows; i++) {
      W sum = UPPER ? l[j * rows + i] : l[i * rows + j];
      for (long k = 0; k < j; k++) sum -= (W)(UPPER ? l[k * rows + i] : l[i * rows + k]) * (UPPER ? l[k * rows + j] : l[j * rows + k]);
      if (i == j && !(sum > 0) && !bad) bad = (int)j + 1;
      const W top = UPPER ? l[j * rows + j] : l[j * rows + j];
      const float v = i == j ? sqrt(sum) : sum / top;
      if (UPPER) l[j * rows + i] = v; else l[i * rows + j] = v;
    }
  }
  for (long i = 0; i < rows; i++)
    for (long j = 0; j < rows; j++)
      if (UPPER ? j < i : j > i) l[i * rows + j] = 0;
  info[n] = bad;
}
)cl";
bool cholesky(Call& c) {
  const Tensor& a = c.tensor(0);
  if (!square_floats(a) || c.flag(2)) return false;
  const std::vector<Tensor> outs = c.results(), infos = dense_for({outs[1]});
  const Tensor l = in_rows(a);
  Launch(c.device(), head(c.device(), "global float* a, global int* info", c.flag(1) ? "#define UPPER 1\n" : "#define UPPER 0\n") + kCholesky)
      .value(batch_of(a))
      .value<int64_t>(a.size(-1))
      .value<int64_t>(a.size(-1))
      .pointer(l.data_ptr())
      .pointer(infos[0].data_ptr())
      .run(static_cast<size_t>(batch_of(a)));
  // A matrix that is not positive definite has no factor to speak of: the CPU tells what stands there.
  if (infos[0].any().item().toBool()) return false;
  return deliver(c, outs, {l, infos[0]});
}

const char* const kLu = R"cl(
  global float* m = a + n * rows * columns;
  const long least = min(rows, columns);
  int bad = 0;
  for (long j = 0; j < least; j++) {
    long best = j;
    if (PIVOT)
      for (long i = j + 1; i < rows; i++)
        if (fabs(m[i * columns + j]) > fabs(m[best * columns + j])) best = i;
    pivots[n * least + j] = (int)best + 1;
    if (best != j)
      for (long k = 0; k < columns; k++) {
        const float t = m[j * columns + k];
        m[j * columns + k] = m[best * columns + k];
        m[best * columns + k] = t;
      }
    const float top = m[j * columns + j];
    if (top == 0) {
      if (!bad) bad = (int)j + 1;
      continue;
    }
    for (long i = j + 1; i < rows; i++) {
      const float factor = m[i * columns + j] / top;
      m[i * columns + j] = factor;
      for (long k = j + 1; k < columns; k++) m[i * columns + k] = fma(-factor, m[j * columns + k], m[i * columns + k]);
    }
  }
  info[n] = bad;
}
)cl";
bool lu_factor(Call& c) {
  const Tensor& a = c.tensor(0);
  if (!square_floats(a) || c.flag(2)) return false;
  const std::vector<Tensor> outs = c.results(), rest = dense_for({outs[1], outs[2]});
  const Tensor lu = in_rows(a);
  Launch(c.device(), head(c.device(), "global float* a, global int* pivots, global int* info", c.flag(1) ? "#define PIVOT 1\n" : "#define PIVOT 0\n") + kLu)
      .value(batch_of(a))
      .value<int64_t>(a.size(-2))
      .value<int64_t>(a.size(-1))
      .pointer(lu.data_ptr())
      .pointer(rest[0].data_ptr())
      .pointer(rest[1].data_ptr())
      .run(static_cast<size_t>(batch_of(a)));
  return deliver(c, outs, {lu, rest[0], rest[1]});
}

// x of a x = b, a column of b for each item; b is overwritten.
const char* const kTriangular = R"cl(
  // here a column of a matrix of the batch
  const long which = n / columns, column = n % columns;
  global const float* m = a + which * rows * rows;
  global float* x = b + which * rows * columns + column;
  for (long s = 0; s < rows; s++) {
    const long i = UPPER ? rows - 1 - s : s;
    W sum = x[i * columns];
    for (long k = UPPER ? i + 1 : 0; k < (UPPER ? rows : i); k++) sum -= (W)m[i * rows + k] * x[k * columns];
    x[i * columns] = UNIT ? sum : sum / m[i * rows + i];
  }
}
)cl";
bool solve_triangular(Call& c) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  if (!square_floats(a) || !square_floats(b) || a.dim() < 2 || b.dim() < 2) return false;
  const std::vector<Tensor> outs = c.results();
  const bool upper = c.flag(2), left = c.flag(3);
  // x a = b is a^T x^T = b^T.
  std::vector<int64_t> shape(outs[0].sizes().begin(), outs[0].sizes().end());
  std::vector<int64_t> of_a(shape.begin(), shape.end() - 2);
  of_a.insert(of_a.end(), {a.size(-2), a.size(-1)});
  const Tensor wide_a = a.expand(of_a), wide_b = b.expand(shape);
  const Tensor m = in_rows(left ? wide_a : wide_a.transpose(-2, -1)), x = in_rows(left ? wide_b : wide_b.transpose(-2, -1));
  const int64_t rows = x.size(-2), columns = x.size(-1), items = batch_of(x) * columns;
  const std::string defines = std::string("#define UPPER ") + (upper == left ? "1" : "0") + "\n#define UNIT " + (c.flag(4) ? "1" : "0") + "\n";
  Launch(c.device(), head(c.device(), "global const float* a, global float* b", defines) + kTriangular)
      .value(items)
      .value(rows)
      .value(columns)
      .pointer(m.data_ptr())
      .pointer(x.data_ptr())
      .run(static_cast<size_t>(items));
  move_elements(outs[0], left ? x : x.transpose(-2, -1));
  return c.give_all(outs);
}

// Householder's reflections: R in place of a, and Q, which has `width` columns.
const char* const kQr = R"cl(
  global float* r = a + n * rows * columns;
  global float* o = q + n * rows * width;
  global float* f = factors + n * least;
  for (long j = 0; j < least; j++) {
    W norm = 0;
    for (long i = j + 1; i < rows; i++) norm += (W)r[i * columns + j] * r[i * columns + j];
    const W alpha = r[j * columns + j];
    if (norm == 0) { f[j] = 0; continue; }
    const W beta = alpha > 0 ? -sqrt(alpha * alpha + norm) : sqrt(alpha * alpha + norm);
    f[j] = (beta - alpha) / beta;
    for (long i = j + 1; i < rows; i++) r[i * columns + j] /= alpha - beta;
    r[j * columns + j] = beta;
    for (long k = j + 1; k < columns; k++) {
      W sum = r[j * columns + k];
      for (long i = j + 1; i < rows; i++) sum += (W)r[i * columns + j] * r[i * columns + k];
      sum *= f[j];
      r[j * columns + k] -= sum;
      for (long i = j + 1; i < rows; i++) r[i * columns + k] -= sum * r[i * columns + j];
    }
  }
  for (long i = 0; i < rows; i++)
    for (long k = 0; k < width; k++) o[i * width + k] = i == k;
  for (long j = least - 1; j >= 0; j--)
    for (long k = 0; k < width; k++) {
      W sum = o[j * width + k];
      for (long i = j + 1; i < rows; i++) sum += (W)r[i * columns + j] * o[i * width + k];
      sum *= f[j];
      o[j * width + k] -= sum;
      for (long i = j + 1; i < rows; i++) o[i * width + k] -= sum * r[i * columns + j];
    }
}
)cl";
bool qr(Call& c) {
  const Tensor& a = c.tensor(0);
  const std::string& mode = c[1].to_string();
  if (!square_floats(a) || a.dim() < 2 || (mode != "reduced" && mode != "complete")) return false;
  const std::vector<Tensor> outs = c.results();
  const int64_t rows = a.size(-2), columns = a.size(-1), least = std::min(rows, columns), width = outs[0].size(-1), batch = batch_of(a);
  const Tensor r = in_rows(a), q = make(outs[0].sizes(), a.scalar_type(), c.device()), factors = make({batch, least}, a.scalar_type(), c.device());
  Launch(c.device(), head(c.device(), "long width, long least, global float* a, global float* q, global float* factors") + kQr)
      .value(batch)
      .value(rows)
      .value(columns)
      .value(width)
      .value(least)
      .pointer(r.data_ptr())
      .pointer(q.data_ptr())
      .pointer(factors.data_ptr())
      .run(static_cast<size_t>(batch));
  return deliver(c, outs, {q, r.narrow(-2, 0, width).triu()});
}

}  // namespace

void add_linalg(cresset::dispatch::Library& m) {
  native(m, "linalg_cholesky_ex", cholesky);
  native(m, "linalg_lu_factor_ex", lu_factor);
  native(m, "linalg_solve_triangular", solve_triangular);
  native(m, "_linalg_qr", qr);
}

}  // namespace opencl
