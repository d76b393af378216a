// Counts in cells between edges, of one dimension or several.

#include <cmath>

#include "cresset/dispatch/listen.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/operands.h"

namespace cresset::ops::composite {

namespace {

using Range = std::optional<ArrayRef<double>>;
using Edges = std::vector<Tensor>;

void check_input(const char* op, const Tensor& self, int64_t dims) {
  CRESSET_CHECK(self.dim() >= 2, op, ": input tensor should have at least 2 dimensions, got shape ", self.sizes());
  CRESSET_CHECK(dims == self.size(-1), op, ": expected bins for each column of the input, got ", dims, " and ", self.size(-1));
  CRESSET_CHECK_NOT_IMPLEMENTED(self.scalar_type() == kFloat || self.scalar_type() == kDouble, op, ": not implemented for dtype ", self.scalar_type());
}

// Edges at equal distances over the range that is given, or over that of the numbers themselves.
Edges even_edges(const char* op, const Tensor& self, IntArrayRef bins, const Range& range) {
  const int64_t dims = static_cast<int64_t>(bins.size());
  check_input(op, self, dims);
  CRESSET_CHECK(!range || static_cast<int64_t>(range->size()) == 2 * dims, op, ": for a ", dims, "-dimensional histogram range should have ", 2 * dims,
                " elements, but got ", range ? range->size() : 0);
  const Tensor points = self.detach().reshape({-1, dims});
  Edges edges;
  for (int64_t d = 0; d < dims; d++) {
    CRESSET_CHECK(bins[static_cast<size_t>(d)] > 0, op, ": bins must be > 0, but got ", bins[static_cast<size_t>(d)], " for dimension ", d);
    double low = 0, high = 1;
    if (range) {
      low = (*range)[static_cast<size_t>(2 * d)];
      high = (*range)[static_cast<size_t>(2 * d + 1)];
    } else if (points.size(0) > 0 && !(points.lacks_data() && !dispatch::is_listening())) {  // else for the shapes alone
      low = points.select(1, d).min().item<double>();
      high = points.select(1, d).max().item<double>();
    }
    CRESSET_CHECK(std::isfinite(low) && std::isfinite(high), op, ": dimension ", d, "'s range [", low, ", ", high, "] is not finite");
    CRESSET_CHECK(low <= high, op, ": min should not exceed max, but got min ", low, " max ", high, " for dimension ", d);
    if (low == high) {
      low -= 0.5;
      high += 0.5;
    }
    edges.push_back(cresset::linspace(low, high, bins[static_cast<size_t>(d)] + 1, points.options()));
  }
  return edges;
}

// The weight of the points (..., n) in each cell: from one edge to below the next, the last with its end.
Tensor counted(const char* op, const Tensor& self, ArrayRef<Tensor> edges, const std::optional<Tensor>& weight, bool density) {
  const int64_t dims = static_cast<int64_t>(edges.size());
  check_input(op, self, dims);
  const bool weighted = given(weight);
  if (weighted) {
    CRESSET_CHECK(weight->scalar_type() == self.scalar_type(), op, ": weight should have the dtype of input, ", self.scalar_type(), ", got ",
                  weight->scalar_type());
    CRESSET_CHECK(weight->sizes() == self.sizes().slice(0, static_cast<size_t>(self.dim() - 1)), op,
                  ": weight should have the shape of input without its innermost dimension, got ", weight->sizes(), " for ", self.sizes());
  }
  DimVector shape;
  int64_t cells = 1;
  for (int64_t d = 0; d < dims; d++) {
    const Tensor& e = edges[static_cast<size_t>(d)];
    CRESSET_CHECK(e.dim() == 1 && e.numel() > 0, op, ": bins should be vectors with at least one edge, got shape ", e.sizes(), " for dimension ", d);
    CRESSET_CHECK(e.scalar_type() == self.scalar_type(), op, ": bins should have the dtype of input, ", self.scalar_type(), ", got ", e.scalar_type(),
                  " for dimension ", d);
    shape.push_back(e.numel() - 1);
    cells *= shape.back();
  }
  const Tensor points = self.detach().reshape({-1, dims});
  Tensor hist = cresset::zeros({cells}, points.options());
  if (cells > 0 && points.size(0) > 0) {
    Tensor amount = weighted ? weight->detach().reshape({-1}) : cresset::ones({points.size(0)}, points.options()), cell;
    for (int64_t d = 0; d < dims; d++) {
      const Tensor e = edges[static_cast<size_t>(d)].detach().contiguous(), x = points.select(1, d).contiguous();
      const Tensor place = (cresset::searchsorted(e, x, false, true) - 1).clamp(0, shape[static_cast<size_t>(d)] - 1);
      const Tensor inside = (x >= e.select(0, 0)).logical_and(x <= e.select(0, -1));
      amount = amount.masked_fill(inside.logical_not(), 0);
      cell = cell.defined() ? cell * shape[static_cast<size_t>(d)] + place : place;
    }
    hist = hist.index_add(0, cell, amount);
  }
  hist = hist.view(shape);
  if (!density) return hist;
  hist = hist / hist.sum();
  for (int64_t d = 0; d < dims; d++) {
    DimVector along(static_cast<size_t>(dims), 1);
    along[static_cast<size_t>(d)] = shape[static_cast<size_t>(d)];
    hist = hist / edges[static_cast<size_t>(d)].detach().diff().view(along);
  }
  return hist;
}

std::optional<Tensor> flat(const char* op, const Tensor& self, const std::optional<Tensor>& weight) {
  if (!given(weight)) return std::nullopt;
  CRESSET_CHECK(weight->sizes() == self.sizes(), op, ": expected weight of shape ", self.sizes(), ", got ", weight->sizes());
  return weight->reshape({-1});
}

}  // namespace

std::tuple<Tensor, Tensor> histogram(const Tensor& self, const Tensor& bins, const std::optional<Tensor>& weight, bool density) {
  return {counted("histogram", self.reshape({-1, 1}), {bins}, flat("histogram", self, weight), density), bins.clone()};
}
std::tuple<Tensor, Tensor> histogram(const Tensor& self, int64_t bins, const Range& range, const std::optional<Tensor>& weight, bool density) {
  const Tensor points = self.reshape({-1, 1}), edges = even_edges("histogram", points, {bins}, range)[0];
  return {counted("histogram", points, {edges}, flat("histogram", self, weight), density), edges};
}

std::tuple<Tensor, Edges> histogramdd(const Tensor& self, IntArrayRef bins, const Range& range, const std::optional<Tensor>& weight, bool density) {
  Edges edges = even_edges("histogramdd", self, bins, range);
  Tensor hist = counted("histogramdd", self, edges, weight, density);
  return {std::move(hist), std::move(edges)};
}
std::tuple<Tensor, Edges> histogramdd(const Tensor& self, int64_t bins, const Range& range, const std::optional<Tensor>& weight, bool density) {
  CRESSET_CHECK(self.dim() >= 2, "histogramdd: input tensor should have at least 2 dimensions, got shape ", self.sizes());
  return cresset::histogramdd(self, IntArrayRef(DimVector(static_cast<size_t>(self.size(-1)), bins)), range, weight, density);
}
std::tuple<Tensor, Edges> histogramdd(const Tensor& self, TensorList bins, const Range&, const std::optional<Tensor>& weight, bool density) {
  Edges edges;
  for (const Tensor& e : bins) edges.push_back(e.clone());
  return {counted("histogramdd", self, bins, weight, density), std::move(edges)};
}

}  // namespace cresset::ops::composite
