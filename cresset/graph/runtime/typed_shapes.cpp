// The signatures of views, copies, indexing and factories.

#include "cresset/graph/runtime/typed.h"

namespace cresset::graph {

ArrayRef<TypedRow> typed_rows_shapes() {
  using OptionalInt = std::optional<int64_t>;
  using OptionalFormat = std::optional<MemoryFormat>;
  static const TypedRow kRows[] = {
      TypedOf<Tensor(const Tensor&, int64_t)>::row(),
      TypedOf<Tensor(const Tensor&, int64_t, int64_t)>::row(),
      TypedOf<Tensor(const Tensor&, int64_t, int64_t, int64_t)>::row(),
      TypedOf<Tensor(const Tensor&, IntArrayRef)>::row(),
      TypedOf<Tensor(const Tensor&, int64_t, OptionalInt, OptionalInt, int64_t)>::row(),
      TypedOf<Tensor(const Tensor&, const Tensor&, int64_t)>::row(),
      TypedOf<Tensor(const Tensor&, int64_t, const Tensor&)>::row(),
      TypedOf<Tensor(const Tensor&, int64_t, const Tensor&, bool)>::row(),
      TypedOf<Tensor(const Tensor&, int64_t, const Tensor&, const Tensor&)>::row(),
      TypedOf<std::vector<Tensor>(const Tensor&, int64_t)>::row(),
      TypedOf<std::vector<Tensor>(const Tensor&, int64_t, int64_t)>::row(),
      TypedOf<std::vector<Tensor>(const Tensor&, IntArrayRef, int64_t)>::row(),
      TypedOf<Tensor(TensorList, int64_t)>::row(),
      TypedOf<Tensor(const Tensor&, OptionalFormat)>::row(),
      TypedOf<Tensor(const Tensor&, MemoryFormat)>::row(),
      TypedOf<Tensor(const Tensor&, ScalarType, bool, bool, OptionalFormat)>::row(),
      TypedOf<Tensor(const Tensor&, const TensorOptions&, bool, OptionalFormat)>::row(),
      TypedOf<Tensor(const Tensor&, const TensorOptions&, bool, bool, OptionalFormat)>::row(),
      TypedOf<Tensor(const Tensor&, const TensorOptions&, OptionalFormat)>::row(),
      TypedOf<Tensor&(Tensor&, const Tensor&, bool)>::row(),
  };
  return kRows;
}

}  // namespace cresset::graph
