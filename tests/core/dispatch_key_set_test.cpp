#include "cresset/core/dispatch_key_set.h"

#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "cresset/tensor.h"

namespace cresset {
namespace {

TEST(DispatchKeySet, HoldsBackendsAndFunctionalities) {
  constexpr DispatchKeySet cpu(DispatchKey::CPU);
  static_assert(cpu.has(DispatchKey::Dense) && cpu.has_backend(BackendComponent::CPUBit) && !cpu.has(DispatchKey::CUDA), "");
  EXPECT_TRUE(DispatchKeySet().empty());
  EXPECT_EQ(cpu.highestPriorityTypeId(), DispatchKey::CPU);
  EXPECT_EQ(cpu.add(DispatchKey::AutogradCPU).highestPriorityTypeId(), DispatchKey::AutogradCPU);
  EXPECT_EQ(cpu.add(DispatchKey::AutogradCPU).remove(DispatchKey::AutogradCPU), cpu);
}

TEST(DispatchKeySet, ListsItsKeysInRisingPriority) {
  const DispatchKeySet set{DispatchKey::AutogradCUDA, DispatchKey::CUDA, DispatchKey::Conjugate};
  const std::vector<DispatchKey> keys(set.begin(), set.end());
  EXPECT_EQ(keys, (std::vector<DispatchKey>{DispatchKey::CUDA, DispatchKey::Conjugate, DispatchKey::AutogradCUDA}));
  std::ostringstream text;
  text << DispatchKeySet(DispatchKey::CUDA);
  EXPECT_EQ(text.str(), "DispatchKeySet(CUDA)");
}

TEST(DispatchKey, IsKnownByItsName) {
  EXPECT_EQ(parseDispatchKey("AutogradXLA"), DispatchKey::AutogradXLA);
  EXPECT_STREQ(toString(DispatchKey::SparseCsrCPU), "SparseCsrCPU");
  EXPECT_THROW(parseDispatchKey("Nowhere"), Error);
}

TEST(DispatchKey, FollowsFromLayoutAndDevice) {
  EXPECT_EQ(computeDispatchKey(kFloat, Layout::Strided, Device(kCPU)), DispatchKey::CPU);
  EXPECT_EQ(computeDispatchKey(kFloat, Layout::Sparse, Device(kCUDA)), DispatchKey::SparseCUDA);
  EXPECT_EQ(computeDispatchKey(kFloat, Layout::SparseCsc, Device(kMeta)), DispatchKey::SparseCsrMeta);
  EXPECT_EQ(computeDispatchKey(kFloat, Layout::Mkldnn, Device(kCPU)), DispatchKey::MkldnnCPU);
}

TEST(DispatchKey, AliasStandsForSeveralKeys) {
  EXPECT_TRUE(isIncludedInAlias(DispatchKey::AutogradCPU, DispatchKey::Autograd));
  EXPECT_FALSE(isIncludedInAlias(DispatchKey::CPU, DispatchKey::Autograd));
  EXPECT_EQ(getRuntimeDispatchKeySet(DispatchKey::CPU), DispatchKeySet(DispatchKey::CPU));
}

TEST(ExcludeDispatchKeyGuard, HidesTheLayerInItsScope) {
  Tensor x = ones({2});
  x.set_requires_grad(true);
  {
    const ExcludeDispatchKeyGuard guard(autograd_dispatch_keyset);
    EXPECT_TRUE(tls_is_dispatch_key_excluded(DispatchKey::AutogradCPU));
    EXPECT_FALSE((x * x).requires_grad());
  }
  EXPECT_FALSE(tls_is_dispatch_key_excluded(DispatchKey::AutogradCPU));
  EXPECT_TRUE((x * x).requires_grad());
}

TEST(IncludeDispatchKeyGuard, IncludesTheLayerInItsScope) {
  EXPECT_FALSE(tls_is_dispatch_key_included(DispatchKey::AutocastCPU));
  const IncludeDispatchKeyGuard guard(DispatchKey::AutocastCPU);
  EXPECT_TRUE(tls_is_dispatch_key_included(DispatchKey::AutocastCPU));
}

}  // namespace
}  // namespace cresset
