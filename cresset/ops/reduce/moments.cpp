#include "cresset/ops/reduce/moments.h"

#include "cresset/ops/functions.h"

namespace cresset {

Tensor Tensor::var(int64_t dim) const { return cresset::var(*this, OptionalIntArrayRef(dim)); }
Tensor Tensor::var(int dim) const { return var(int64_t{dim}); }
Tensor Tensor::std(int64_t dim) const { return cresset::std(*this, OptionalIntArrayRef(dim)); }
Tensor Tensor::std(int dim) const { return std(int64_t{dim}); }

Tensor var(const Tensor& self, int64_t dim) { return self.var(dim); }
Tensor var(const Tensor& self, int dim) { return self.var(dim); }
Tensor std(const Tensor& self, int64_t dim) { return self.std(dim); }
Tensor std(const Tensor& self, int dim) { return self.std(dim); }
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, int64_t dim) { return var_mean(self, OptionalIntArrayRef(dim)); }
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, int dim) { return var_mean(self, int64_t{dim}); }
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, int64_t dim) { return std_mean(self, OptionalIntArrayRef(dim)); }
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, int dim) { return std_mean(self, int64_t{dim}); }

}  // namespace cresset
