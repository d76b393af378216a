// Sparse tensors from C++: making, converting, products with gradients, refusals.

#include <gtest/gtest.h>

#include "cresset/core/sparse.h"
#include "cresset/dispatch/backend.h"
#include "cresset/dispatch/registry.h"
#include "cresset/sparse.h"
#include "error_of.h"

namespace cresset {
namespace {

Tensor dense() { return tensor({0.f, 1.f, 0.f, 2.f, 0.f, 3.f}).view({2, 3}); }

TEST(Sparse, CoordinatesAndBack) {
  const Tensor x = sparse_coo_tensor(tensor({0, 1, 1, 1, 0, 0}, kLong).view({2, 3}), tensor({1.f, 2.f, 3.f}), {2, 2});
  EXPECT_TRUE(x.is_sparse());
  EXPECT_FALSE(x.is_coalesced());
  EXPECT_EQ(x._nnz(), 3);
  EXPECT_TRUE(equal(x.to_dense(), tensor({0.f, 1.f, 5.f, 0.f}).view({2, 2})));
  const Tensor y = x.coalesce();
  EXPECT_TRUE(equal(y.values(), tensor({1.f, 5.f})));
  EXPECT_TRUE(equal((x + x).to_dense(), 2 * x.to_dense()));
}

TEST(Sparse, EveryLayoutHoldsTheSame) {
  const Tensor x = dense();
  for (const Layout layout : {Layout::Sparse, Layout::SparseCsr, Layout::SparseCsc}) {
    const Tensor s = x.to_sparse(layout);
    EXPECT_EQ(s.layout(), layout);
    EXPECT_TRUE(equal(s.to_dense(), x));
    EXPECT_TRUE(equal(s.mm(x.t()), x.mm(x.t())));
  }
  EXPECT_TRUE(equal(x.to_sparse_bsr({2, 1}).to_dense(), x));
  EXPECT_TRUE(equal(x.to_sparse_csr().crow_indices(), tensor({0, 1, 3}, kLong)));
}

TEST(Sparse, AliasesShareWhatTheyWereMadeOfAndNotWhatComesLater) {
  Tensor x = dense().to_sparse();
  const Tensor alias = x.detach();
  x.values().mul_(2);
  EXPECT_TRUE(equal(alias.to_dense(), 2 * dense()));
  const uint32_t version = x._version();
  x.add_(dense().to_sparse());
  EXPECT_GT(x._version(), version);
  EXPECT_TRUE(equal(alias.to_dense(), 2 * dense()));
  EXPECT_TRUE(equal(x.to_dense(), 3 * dense()));
  Tensor other = zeros_like(x);
  other.set_data(x);
  EXPECT_TRUE(equal(other.to_dense(), x.to_dense()));
}

TEST(Sparse, GradientsOfProducts) {
  const Tensor m = dense().t().contiguous().requires_grad_(), s = dense().to_sparse_csr().requires_grad_();
  sparse::mm(s, m).pow(2).sum().backward();
  const Tensor product = dense().mm(dense().t());
  EXPECT_TRUE(equal(m.grad(), dense().t().mm(2 * product)));
  EXPECT_EQ(s.grad().layout(), Layout::SparseCsr);
  EXPECT_TRUE(equal(s.grad().to_dense(), (2 * product).mm(dense()) * dense().ne(0)));
}

TEST(Sparse, EveryKernelFitsItsOperator) {
  // The table checks the signatures of its kernels when it is made.
  EXPECT_TRUE(dispatch::can_run(kSparseBackend, dispatch::find_op("add.Tensor").entry()));
  EXPECT_FALSE(dispatch::can_run(kSparseBackend, dispatch::find_op("cos").entry()));
  EXPECT_EQ(dispatch::backend_name(kSparseBackend), "SparseCPU");
  EXPECT_EQ(dispatch::find_backend("SparseCsrCPU"), kSparseCompressedBackend);
  EXPECT_NE(dispatch::print_table("add.Tensor").find("backend SparseCPU: built in"), std::string::npos);
}

TEST(Sparse, Refusals) {
  const Tensor x = dense().to_sparse();
  EXPECT_NE(error_of<NotImplementedError>([&] { x.cos(); }).find("Could not run 'aten::cos' with arguments from the 'SparseCPU' backend"), std::string::npos);
  EXPECT_NE(error_of<NotImplementedError>([&] { x.view({6}); }).find("'SparseCPU' backend"), std::string::npos);
  EXPECT_FALSE(error_of<Error>([&] { x.data_ptr<float>(); }).empty());
  EXPECT_FALSE(error_of<Error>([&] { x.accessor<float, 2>(); }).empty());
  EXPECT_FALSE(error_of<Error>([&] { sparse_coo_tensor(tensor({5}, kLong).view({1, 1}), tensor({1.f}), {2}); }).empty());
  EXPECT_FALSE(error_of<Error>([&] { dense().values(); }).empty());
  EXPECT_FALSE(error_of<Error>([&] { zeros({2, 3}).copy_(x); }).empty());
}

TEST(Sparse, Text) {
  EXPECT_EQ(testing::PrintToString(tensor({0.f, 3.f}).to_sparse()),
            "[ SparseCPUFloatType{}\nindices:\n 1\n[ CPULongType{1,1} ]\nvalues:\n 3\n[ CPUFloatType{1} ]\nsize:\n[2]\n]");
}

TEST(Sparse, ThreadsDoNotChangeResults) {
  manual_seed(3);
  const Tensor x = randn({200, 300}) * (rand({200, 300}) < 0.3), m = randn({300, 65});
  const Tensor s = x.to_sparse_csr();
  const int threads = get_num_threads();
  set_num_threads(1);
  const Tensor one = s.mm(m);
  set_num_threads(3);
  EXPECT_TRUE(equal(s.mm(m), one));
  set_num_threads(threads);
  EXPECT_TRUE(allclose(one, x.mm(m), 1e-4, 1e-4));
}

}  // namespace
}  // namespace cresset
