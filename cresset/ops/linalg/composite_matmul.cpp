// Matrix products in terms of mm, bmm, mv and dot.

#include <limits>

#include "cresset/ops/functions.h"
#include "cresset/ops/layout/unsafe_view.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/own.h"
#include "cresset/ops/support.h"

namespace cresset::ops::composite {

// Matrices may be written over by their product; what else shares memory would be resized.
void matmul_out(const Tensor& self, const Tensor& other, Tensor& out) {
  const bool matrices = self.dim() == 2 && other.dim() == 2;
  if (!matrices || out.sizes() != IntArrayRef({self.size(0), other.size(1)})) check_apart("matmul", out, inputs_of(self, other));
  store_out("matmul", out, cresset::matmul(self, other), OutDtype::exact);
}

Tensor matmul(const Tensor& self, const Tensor& other) {
  const int64_t a = self.dim(), b = other.dim();
  CRESSET_CHECK(a > 0 && b > 0, "matmul: both arguments need to be at least 1-dimensional, got ", a, "-d and ", b, "-d");
  if (a == 1 && b == 1) return self.dot(other);
  if (a == 2 && b == 1) return self.mv(other);
  if (a == 1 && b == 2) return other.t().mv(self);
  if (a == 2 && b == 2) return self.mm(other);
  const int64_t m = a == 1 ? 1 : self.size(-2), k = self.size(-1), n = b == 1 ? 1 : other.size(-1), k2 = b == 1 ? other.size(0) : other.size(-2);
  CRESSET_CHECK(k == k2, "matmul: the inner sizes of shapes ", self.sizes(), " and ", other.sizes(), " differ: ", k, " and ", k2);
  // One matrix against a batch on the left folds into a single product, as long as that needs no copy.
  if (b <= 2 && a >= 3) {
    DimVector shape(self.sizes().slice(0, a - 1));
    int64_t rows = 1;
    for (const int64_t s : shape) rows *= s;
    const Tensor flat = self.reshape({rows, k});
    if (b == 1) return own(flat.mv(other).view(shape));
    shape.push_back(n);
    return own(unsafe_view(flat.mm(other), shape));
  }
  const Tensor left = a == 1 ? self.unsqueeze(0) : self, right = b == 1 ? other.unsqueeze(1) : other;
  const DimVector batch = broadcast_shapes(left.sizes().slice(0, left.dim() - 2), right.sizes().slice(0, right.dim() - 2));
  int64_t count = 1;
  for (const int64_t s : batch) count *= s;
  DimVector left_shape(batch), right_shape(batch), shape(batch);
  left_shape.push_back(m);
  left_shape.push_back(k);
  right_shape.push_back(k);
  right_shape.push_back(n);
  if (a > 1) shape.push_back(m);
  if (b > 1) shape.push_back(n);
  return own(unsafe_view(left.expand(left_shape).reshape({count, m, k}).bmm(right.expand(right_shape).reshape({count, k, n})), shape));
}

Tensor outer(const Tensor& self, const Tensor& vec2) {
  CRESSET_CHECK(self.dim() == 1 && vec2.dim() == 1, "outer: expects 1-d tensors, got shapes ", self.sizes(), " and ", vec2.sizes());
  return self.reshape({self.size(0), 1}) * vec2;
}

namespace {

// The product of matrices begin..end-1 in the order of the fewest multiplications; split[i][j] is where i..j is cut.
Tensor product_of(TensorList matrices, const std::vector<std::vector<size_t>>& split, size_t begin, size_t end) {
  if (end - begin == 1) return matrices[begin];
  const size_t cut = split[begin][end - 1] + 1;
  return product_of(matrices, split, begin, cut).mm(product_of(matrices, split, cut, end));
}

Tensor product_of(TensorList matrices) {
  const size_t n = matrices.size();
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<size_t>> split(n, std::vector<size_t>(n, 0));
  auto rows = [&](size_t i) { return static_cast<double>(matrices[i].size(0)); };
  auto cols = [&](size_t i) { return static_cast<double>(matrices[i].size(1)); };
  for (size_t length = 1; length < n; length++)
    for (size_t i = 0; i + length < n; i++) {
      const size_t j = i + length;
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (size_t k = i; k < j; k++) {
        const double c = cost[i][k] + cost[k + 1][j] + rows(i) * cols(k) * cols(j);
        if (c < cost[i][j]) {
          cost[i][j] = c;
          split[i][j] = k;
        }
      }
    }
  return product_of(matrices, split, 0, n);
}

}  // namespace

Tensor chain_matmul(TensorList matrices) {
  CRESSET_CHECK(!matrices.empty(), "chain_matmul: expects at least one matrix");
  for (const Tensor& m : matrices) CRESSET_CHECK(m.dim() == 2, "chain_matmul: expected tensors of 2 dimensions, got shape ", m.sizes());
  return product_of(matrices);
}

Tensor linalg_multi_dot(TensorList tensors) {
  const size_t n = tensors.size();
  CRESSET_CHECK(n >= 2, "multi_dot: expected at least 2 tensors, got ", n);
  std::vector<Tensor> list(tensors.begin(), tensors.end());
  const bool row = list[0].dim() == 1, column = list[n - 1].dim() == 1;
  if (row) list[0] = list[0].unsqueeze(0);
  if (column) list[n - 1] = list[n - 1].unsqueeze(-1);
  for (size_t i = 0; i < n; i++) {
    CRESSET_CHECK(list[i].dim() == 2, "multi_dot: tensor ", i, " must be 2D", i == 0 || i == n - 1 ? " or 1D" : "", ", got shape ", tensors[i].sizes());
    CRESSET_CHECK(list[i].scalar_type() == list[0].scalar_type(), "multi_dot: all tensors must have the same dtype, got ", list[0].scalar_type(), " and ",
                  list[i].scalar_type());
    CRESSET_CHECK(list[i].device() == list[0].device(), "multi_dot: all tensors must be on the same device, got ", list[0].device(), " and ", list[i].device());
    CRESSET_CHECK(i == 0 || list[i - 1].size(1) == list[i].size(0), "multi_dot: tensors ", i - 1, " and ", i, " with shapes ", tensors[i - 1].sizes(), " and ",
                  tensors[i].sizes(), " cannot be multiplied");
  }
  Tensor product = product_of(list);
  if (row) product = product.squeeze(0);
  return column ? product.squeeze(-1) : product;
}

namespace {

// Labels of one operand: letters as written, one entry per dimension; ellipsis dimensions get numbers from kEllipsis on.
constexpr int kEllipsis = 128;

std::vector<int> parse_operand(std::string_view text, int64_t dims, int64_t ellipsis_dims) {
  std::vector<int> labels;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '.') {
      for (int64_t d = 0; d < dims; d++) labels.push_back(kEllipsis + static_cast<int>(ellipsis_dims - dims + d));
      i += 2;
      continue;
    }
    labels.push_back(text[i]);
  }
  return labels;
}

// Takes the diagonal over repeated labels.
Tensor merge_repeated(Tensor t, std::vector<int>& labels) {
  for (size_t i = 0; i < labels.size(); i++)
    for (size_t j = labels.size() - 1; j > i; j--)
      if (labels[i] == labels[j]) {
        CRESSET_CHECK(t.size(i) == t.size(j), "einsum: a repeated subscript stands for sizes ", t.size(i), " and ", t.size(j));
        t = t.diagonal(0, i, j).movedim(-1, i);
        labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(j));
      }
  return t;
}

// a with its dimensions in the order of `wanted`, size-1 dimensions put in for labels it lacks.
Tensor align(const Tensor& t, const std::vector<int>& labels, const std::vector<int>& wanted) {
  DimVector order;
  std::vector<size_t> missing;
  for (size_t w = 0; w < wanted.size(); w++) {
    const auto it = std::find(labels.begin(), labels.end(), wanted[w]);
    if (it == labels.end()) missing.push_back(w);
    else order.push_back(it - labels.begin());
  }
  Tensor r = t.permute(order);
  for (const size_t w : missing) r = r.unsqueeze(static_cast<int64_t>(w));
  return r;
}

// Contracts two operands: labels that the rest does not need are summed, the others kept, as one batched matrix product.
Tensor contract(Tensor a, std::vector<int> la, Tensor b, std::vector<int> lb, const std::vector<int>& keep, std::vector<int>& out) {
  auto has = [](const std::vector<int>& v, int x) { return std::find(v.begin(), v.end(), x) != v.end(); };
  std::vector<int> batch, sum, left, right;
  for (const int l : la) {
    if (has(lb, l)) (has(keep, l) ? batch : sum).push_back(l);
    else if (has(keep, l)) left.push_back(l);
  }
  for (const int l : lb)
    if (!has(la, l) && has(keep, l)) right.push_back(l);
  auto drop = [&](Tensor& t, std::vector<int>& labels, const std::vector<int>& other) {
    for (size_t i = labels.size(); i-- > 0;)
      if (!has(keep, labels[i]) && !has(other, labels[i])) {
        t = t.sum(IntArrayRef(static_cast<int64_t>(i)));
        labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(i));
      }
  };
  drop(a, la, lb);
  drop(b, lb, la);
  auto size_of = [&](int l) {
    const auto ia = std::find(la.begin(), la.end(), l);
    const int64_t sa = ia == la.end() ? 1 : a.size(ia - la.begin());
    const auto ib = std::find(lb.begin(), lb.end(), l);
    const int64_t sb = ib == lb.end() ? 1 : b.size(ib - lb.begin());
    CRESSET_CHECK(sa == sb || sa == 1 || sb == 1, "einsum: operands do not broadcast, a subscript stands for sizes ", sa, " and ", sb);
    return std::make_pair(sa, sb);
  };
  // A summed label of size 1 on one side only broadcasts: sum the other side first.
  for (size_t i = sum.size(); i-- > 0;) {
    const auto [sa, sb] = size_of(sum[i]);
    if (sa != sb) {
      Tensor& t = sa == 1 ? b : a;
      auto& labels = sa == 1 ? lb : la;
      t = t.sum(IntArrayRef(std::find(labels.begin(), labels.end(), sum[i]) - labels.begin()), true);
    }
  }
  // Then it has nothing left to sum: without any other the product is one of elements.
  for (size_t i = sum.size(); i-- > 0;) {
    if (size_of(sum[i]) != std::make_pair(int64_t{1}, int64_t{1})) continue;
    for (auto [t, labels] : {std::make_pair(&a, &la), std::make_pair(&b, &lb)}) {
      const auto at = std::find(labels->begin(), labels->end(), sum[i]);
      *t = t->select(at - labels->begin(), 0);
      labels->erase(at);
    }
    sum.erase(sum.begin() + static_cast<std::ptrdiff_t>(i));
  }
  out = batch;
  out.insert(out.end(), left.begin(), left.end());
  out.insert(out.end(), right.begin(), right.end());
  if (sum.empty()) return align(a, la, out) * align(b, lb, out);
  std::vector<int> order_a = batch, order_b = batch;
  order_a.insert(order_a.end(), left.begin(), left.end());
  order_a.insert(order_a.end(), sum.begin(), sum.end());
  order_b.insert(order_b.end(), sum.begin(), sum.end());
  order_b.insert(order_b.end(), right.begin(), right.end());
  a = align(a, la, order_a);
  b = align(b, lb, order_b);
  DimVector batch_shape, shape;
  for (size_t i = 0; i < batch.size(); i++) batch_shape.push_back(std::max(a.size(i), b.size(i)));
  int64_t nb = 1, nl = 1, ns = 1, nr = 1;
  shape = batch_shape;
  for (const int64_t s : batch_shape) nb *= s;
  for (size_t i = 0; i < left.size(); i++) {
    shape.push_back(a.size(batch.size() + i));
    nl *= shape.back();
  }
  for (size_t i = 0; i < sum.size(); i++) ns *= a.size(batch.size() + left.size() + i);
  for (size_t i = 0; i < right.size(); i++) {
    shape.push_back(b.size(batch.size() + sum.size() + i));
    nr *= shape.back();
  }
  auto expanded = [&](const Tensor& t, int64_t rows, int64_t columns) {
    DimVector full(t.sizes());
    for (size_t i = 0; i < batch_shape.size(); i++) full[i] = batch_shape[i];
    return t.expand(full).reshape({nb, rows, columns});
  };
  return expanded(a, nl, ns).bmm(expanded(b, ns, nr)).view(shape);
}

}  // namespace

Tensor einsum(std::string_view equation, TensorList tensors, OptionalIntArrayRef path) {
  CRESSET_CHECK_VALUE(!tensors.empty(), "einsum: at least one operand is needed");
  std::string text;
  for (const char c : equation)
    if (c != ' ') text += c;
  const size_t arrow = text.find("->");
  const std::string inputs = text.substr(0, arrow);
  std::vector<std::string> terms(1);
  for (const char c : inputs) {
    if (c == ',') terms.emplace_back();
    else terms.back() += c;
  }
  CRESSET_CHECK(terms.size() == tensors.size(), "einsum: equation \"", text, "\" names ", terms.size(), " operands, got ", tensors.size());
  auto check_term = [&](const std::string& term) {
    size_t letters = 0;
    const size_t dots = term.find("...");
    for (size_t i = 0; i < term.size(); i++) {
      if (i == dots) {
        i += 2;
        continue;
      }
      CRESSET_CHECK((term[i] >= 'a' && term[i] <= 'z') || (term[i] >= 'A' && term[i] <= 'Z'), "einsum: invalid subscript '", term[i], "' in equation \"", text,
                    "\", subscripts must be in [a-zA-Z]");
      letters++;
    }
    return letters;
  };
  int64_t ellipsis_dims = 0;
  std::vector<int64_t> own_ellipsis;
  for (size_t i = 0; i < terms.size(); i++) {
    const int64_t letters = static_cast<int64_t>(check_term(terms[i])), rest = tensors[i].dim() - letters;
    const bool dots = terms[i].find("...") != std::string::npos;
    CRESSET_CHECK(dots ? rest >= 0 : rest == 0, "einsum: the number of subscripts in \"", terms[i], "\" does not match the ", tensors[i].dim(),
                  " dimensions of operand ", i);
    own_ellipsis.push_back(dots ? rest : 0);
    ellipsis_dims = std::max(ellipsis_dims, own_ellipsis.back());
  }
  std::vector<std::vector<int>> labels;
  std::vector<Tensor> operands(tensors.begin(), tensors.end());
  int uses[kEllipsis + 64] = {};
  for (size_t i = 0; i < terms.size(); i++) {
    labels.push_back(parse_operand(terms[i], own_ellipsis[i], ellipsis_dims));
    for (const int l : labels[i]) uses[l]++;
    operands[i] = merge_repeated(operands[i], labels[i]);
  }
  std::vector<int> output;
  if (arrow != std::string::npos) {
    const std::string right = text.substr(arrow + 2);
    check_term(right);
    output = parse_operand(right, ellipsis_dims, ellipsis_dims);
    for (size_t i = 0; i < output.size(); i++) {
      CRESSET_CHECK(output[i] >= kEllipsis || uses[output[i]] > 0, "einsum: output subscript ", static_cast<char>(output[i]),
                    " of the output is in no operand of the equation");
      CRESSET_CHECK(std::count(output.begin(), output.end(), output[i]) == 1, "einsum: output subscript ", static_cast<char>(output[i]),
                    " is twice in the output");
    }
  } else {
    for (int64_t d = 0; d < ellipsis_dims; d++) output.push_back(kEllipsis + static_cast<int>(d));
    for (int l = 0; l < kEllipsis; l++)
      if (uses[l] == 1) output.push_back(l);
  }
  // Contract in the given order of pairs, or from left to right; a result goes to the end of the list.
  size_t step = 0;
  while (operands.size() > 1) {
    size_t i = 0, j = 1;
    if (path) {
      const IntArrayRef pairs = *path;
      CRESSET_CHECK(pairs.size() == 2 * (tensors.size() - 1), "einsum: expected contraction path of length ", 2 * (tensors.size() - 1), ", got ", pairs.size());
      i = static_cast<size_t>(std::min(pairs[2 * step], pairs[2 * step + 1]));
      j = static_cast<size_t>(std::max(pairs[2 * step], pairs[2 * step + 1]));
      CRESSET_CHECK(i != j && j < operands.size(), "einsum: invalid contraction path");
    }
    step++;
    std::vector<int> keep = output, result_labels;
    for (size_t o = 0; o < operands.size(); o++)
      if (o != i && o != j) keep.insert(keep.end(), labels[o].begin(), labels[o].end());
    Tensor result = contract(operands[i], labels[i], operands[j], labels[j], keep, result_labels);
    const auto erase = [&](size_t at) {
      operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(at));
      labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(at));
    };
    erase(j);
    erase(i);
    if (path) {
      operands.push_back(result);
      labels.push_back(result_labels);
    } else {
      operands.insert(operands.begin(), result);
      labels.insert(labels.begin(), result_labels);
    }
  }
  Tensor result = operands[0];
  for (size_t d = labels[0].size(); d-- > 0;)
    if (std::find(output.begin(), output.end(), labels[0][d]) == output.end()) {
      result = result.sum(IntArrayRef(static_cast<int64_t>(d)));
      labels[0].erase(labels[0].begin() + static_cast<std::ptrdiff_t>(d));
    }
  return align(result, labels[0], output);
}

Tensor _int_mm(const Tensor& self, const Tensor& mat2) {
  const bool bytes = (self.scalar_type() == kChar || self.scalar_type() == kByte) && mat2.scalar_type() == kChar;
  CRESSET_CHECK(bytes, "_int_mm: expected int8 or uint8 and int8 matrices, got ", self.scalar_type(), " and ", mat2.scalar_type());
  CRESSET_CHECK(self.dim() == 2 && mat2.dim() == 2 && self.size(1) == mat2.size(0), "_int_mm: shapes cannot be multiplied: ", self.sizes(), " and ",
                mat2.sizes());
  return self.to(kInt).mm(mat2.to(kInt));
}

Tensor _scaled_mm(const Tensor& self, const Tensor& mat2, const Tensor& scale_a, const Tensor& scale_b, const std::optional<Tensor>& bias,
                  const std::optional<Tensor>&, std::optional<ScalarType> out_dtype, bool) {
  CRESSET_CHECK(self.dim() == 2 && mat2.dim() == 2, "_scaled_mm: expected matrices, got shapes ", self.sizes(), " and ", mat2.sizes());
  CRESSET_CHECK(self.size(1) == mat2.size(0), "_scaled_mm: shapes cannot be multiplied: ", self.sizes(), " and ", mat2.sizes());
  const int64_t m = self.size(0), n = mat2.size(1);
  const bool single = scale_a.numel() == 1 && scale_b.numel() == 1;
  const bool rows = scale_a.sizes() == IntArrayRef({m, 1}) && scale_b.sizes() == IntArrayRef({1, n});
  const bool dtypes =
      is_float8_type(self.scalar_type()) && is_float8_type(mat2.scalar_type()) && scale_a.scalar_type() == kFloat && scale_b.scalar_type() == kFloat;
  CRESSET_CHECK_VALUE(dtypes && (single || rows), "_scaled_mm: expected float8 matrices with float32 scales of one element each, or of shapes [", m,
                      ", 1] and [1, ", n, "], got ", self.scalar_type(), " and ", mat2.scalar_type(), " with ", scale_a.scalar_type(), scale_a.sizes(), " and ",
                      scale_b.scalar_type(), scale_b.sizes());
  const bool biased = bias && bias->defined();
  CRESSET_CHECK(!biased || bias->numel() == n, "_scaled_mm: bias must be of size ", n, " but got ", biased ? bias->numel() : 0);
  auto rescaled = [&](const Tensor& x, const Tensor& scale) { return x.to(kFloat) * (single ? scale.reshape({}) : scale); };
  Tensor product = rescaled(self, scale_a).mm(rescaled(mat2, scale_b));
  if (biased) product = product + bias->to(kFloat);
  return product.to(out_dtype.value_or(self.scalar_type()));
}

Tensor _scaled_mm_v2(const Tensor& self, const Tensor& mat2, TensorList scale_a, IntArrayRef recipe_a, IntArrayRef, TensorList scale_b, IntArrayRef recipe_b,
                     IntArrayRef, const std::optional<Tensor>& bias, std::optional<ScalarType> out_dtype, IntArrayRef, bool use_fast_accum) {
  // Recipe 0 scales the matrix by one number, 1 each row.
  auto fits = [](TensorList scale, IntArrayRef recipe) {
    return scale.size() == 1 && recipe.size() == 1 && (recipe[0] == 0 ? scale[0].numel() == 1 : recipe[0] == 1);
  };
  CRESSET_CHECK_VALUE(fits(scale_a, recipe_a) && fits(scale_b, recipe_b),
                      "_scaled_mm_v2: expected one scale for each matrix, by recipe 0 (the matrix) or 1 (its rows), got ", scale_a.size(), " by ", recipe_a,
                      " and ", scale_b.size(), " by ", recipe_b);
  return cresset::_scaled_mm(self, mat2, scale_a[0], scale_b[0], bias, {}, out_dtype, use_fast_accum);
}

}  // namespace cresset::ops::composite
