// The signatures of pointwise operators, products and reductions.

#include "cresset/graph/runtime/typed.h"

namespace cresset::graph {

ArrayRef<TypedRow> typed_rows_pointwise() {
  using OptionalScalar = std::optional<Scalar>;
  static const TypedRow kRows[] = {
      TypedOf<Tensor(const Tensor&)>::row(),
      TypedOf<Tensor&(Tensor&)>::row(),
      TypedOf<Tensor(const Tensor&, const Tensor&)>::row(),
      TypedOf<Tensor&(Tensor&, const Tensor&)>::row(),
      TypedOf<Tensor(const Tensor&, const Scalar&)>::row(),
      TypedOf<Tensor&(Tensor&, const Scalar&)>::row(),
      TypedOf<Tensor(const Tensor&, const Scalar&, const Scalar&)>::row(),
      TypedOf<Tensor(const Tensor&, const Tensor&, const Scalar&)>::row(),
      TypedOf<Tensor&(Tensor&, const Tensor&, const Scalar&)>::row(),
      TypedOf<Tensor(const Scalar&, const Tensor&)>::row(),
      TypedOf<Tensor(const Tensor&, const Tensor&, const Tensor&)>::row(),
      TypedOf<Tensor(const Tensor&, const OptionalScalar&, const OptionalScalar&)>::row(),
      TypedOf<Tensor(const Tensor&, std::string_view)>::row(),
      TypedOf<Tensor(const Tensor&, const Tensor&, const Tensor&, const Scalar&)>::row(),
      TypedOf<Tensor(const Tensor&, const Tensor&, const Tensor&, const Scalar&, const Scalar&)>::row(),
      TypedOf<Tensor(const Tensor&, std::optional<ScalarType>)>::row(),
      TypedOf<Tensor(const Tensor&, OptionalIntArrayRef, bool, std::optional<ScalarType>)>::row(),
      TypedOf<Tensor(const Tensor&, IntArrayRef, bool)>::row(),
      TypedOf<Tensor(const Tensor&, int64_t, bool)>::row(),
      TypedOf<Tensor(const Tensor&, std::optional<int64_t>, bool)>::row(),
      TypedOf<Tensor(const Tensor&, int64_t, std::optional<ScalarType>)>::row(),
      TypedOf<std::tuple<Tensor, Tensor>(const Tensor&, int64_t, bool)>::row(),
      TypedOf<std::tuple<Tensor, Tensor>(const Tensor&, int64_t, int64_t, bool, bool)>::row(),
      TypedOf<std::tuple<Tensor, Tensor>(const Tensor&, OptionalIntArrayRef, const OptionalScalar&, bool)>::row(),
  };
  return kRows;
}

}  // namespace cresset::graph
