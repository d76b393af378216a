// The signatures of layers of networks.

#include "cresset/graph/runtime/typed.h"

namespace cresset::graph {

ArrayRef<TypedRow> typed_rows_layers() {
  using Weight = const std::optional<Tensor>&;
  using Three = std::tuple<Tensor, Tensor, Tensor>;
  static const TypedRow kRows[] = {
      TypedOf<Tensor(const Tensor&, const Tensor&, Weight)>::row(),
      TypedOf<Tensor(const Tensor&, const Tensor&, Weight, IntArrayRef, IntArrayRef, IntArrayRef, int64_t)>::row(),
      TypedOf<Tensor(const Tensor&, const Tensor&, Weight, IntArrayRef, IntArrayRef, IntArrayRef, bool, IntArrayRef, int64_t)>::row(),
      TypedOf<Tensor(const Tensor&, const Tensor&, Weight, IntArrayRef, IntArrayRef, IntArrayRef, int64_t, IntArrayRef)>::row(),
      TypedOf<Tensor(const Tensor&, Weight, Weight, Weight, Weight, bool, double, double, bool)>::row(),
      TypedOf<Three(const Tensor&, Weight, Weight, Weight, Weight, bool, double, double)>::row(),
      TypedOf<Tensor(const Tensor&, IntArrayRef, Weight, Weight, double, bool)>::row(),
      TypedOf<Three(const Tensor&, IntArrayRef, Weight, Weight, double)>::row(),
      TypedOf<Tensor(const Tensor&, int64_t, Weight, Weight, double, bool)>::row(),
      TypedOf<Tensor(const Tensor&, IntArrayRef, Weight, std::optional<double>)>::row(),
      TypedOf<Tensor(const Tensor&, const Tensor&, const Tensor&, Weight, double, bool, std::optional<double>, bool)>::row(),
      TypedOf<Tensor(const Tensor&, const Tensor&, int64_t, bool, bool)>::row(),
      TypedOf<Tensor(const Tensor&, double, bool)>::row(),
      TypedOf<Tensor(const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, IntArrayRef, bool)>::row(),
      TypedOf<std::tuple<Tensor, Tensor>(const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, IntArrayRef, bool)>::row(),
      TypedOf<Tensor(const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, bool, bool, std::optional<int64_t>)>::row(),
  };
  return kRows;
}

}  // namespace cresset::graph
