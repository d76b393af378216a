#include <cmath>

#include "cresset/autograd/saved/saved_variable.h"

#include "tests/autograd/support.h"

namespace cresset {
namespace {

using autograd::PackedTensor;
using autograd::SavedTensorsHooksGuard;

TEST(SavedTensor, InputModifiedInPlaceRaises) {
  const Tensor x = leaf({1, 2});
  Tensor y = x.clone();
  const Tensor z = y * y;
  y.add_(1);
  const std::string text = error_of([&] { z.sum().backward(); });
  EXPECT_TRUE(contains(text, "modified by an inplace operation"));
  EXPECT_TRUE(contains(text, "is at version 1, expected version 0"));
  EXPECT_TRUE(contains(text, "output 0 of Add"));
}

TEST(SavedTensor, OutputModifiedInPlaceRaisesAndNamesItsOperator) {
  const Tensor x = leaf({1, 2});
  Tensor z = x.exp();
  z.add_(1);
  EXPECT_TRUE(contains(error_of([&] { z.sum().backward(); }), "output 0 of Exp"));
}

TEST(SavedTensor, ModifiedThroughAViewRaises) {
  const Tensor x = leaf({1, 2});
  Tensor y = x.clone();
  const Tensor z = y * y;
  y.slice(0, 0, 1).add_(1);
  EXPECT_TRUE(contains(error_of([&] { z.sum().backward(); }), "modified by an inplace operation"));
}

TEST(SavedTensor, ModifiedThroughDetachRaises) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x.clone(), z = y * y;
  y.detach().add_(1);
  EXPECT_TRUE(contains(error_of([&] { z.sum().backward(); }), "modified by an inplace operation"));
}

TEST(SavedTensor, ModifiedThroughDataIsNotNoticed) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x.clone(), z = y * y;
  y.data().add_(1);
  z.sum().backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{4, 6}));
}

TEST(SavedTensor, IsFreedByBackward) {
  const Tensor x = leaf({1, 2});
  const Tensor z = (x * x).sum();
  z.backward();
  EXPECT_TRUE(contains(error_of([&] { z.backward(); }), "freed"));
}

TEST(SavedTensor, NodesThatSaveNothingRunASecondTime) {
  const Tensor x = leaf({1});
  const Tensor z = x + 1;
  z.backward();
  z.backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{2}));
}

TEST(SavedTensor, OutputDoesNotKeepItsOwnGraphAlive) {
  const Tensor x = leaf({1});
  Tensor y = x.exp();
  const weak_intrusive_ptr<autograd::Node> node(y.grad_fn());
  y.reset();
  EXPECT_TRUE(node.expired());
}

TEST(SavedTensor, OfAnInPlaceOperatorOnAView) {
  const Tensor x = leaf({1, 2});
  Tensor y = x.clone();
  y.slice(0, 0, 1).exp_();
  const Tensor g = autograd::grad({y.sum()}, {x}, {}, std::nullopt, true)[0];
  const Tensor h = autograd::grad({g.sum()}, {x})[0];
  EXPECT_DOUBLE_EQ(numbers(g)[0], std::exp(1.0));
  EXPECT_DOUBLE_EQ(numbers(h)[0], std::exp(1.0));
  EXPECT_DOUBLE_EQ(numbers(h)[1], 0);
}

TEST(SavedTensor, OutputOfAnInPlaceOperatorDifferentiatesAgain) {
  const Tensor x = leaf({1});
  Tensor y = x.clone();
  y.exp_();
  const Tensor g = autograd::grad({y}, {x}, {}, std::nullopt, true)[0];
  EXPECT_DOUBLE_EQ(autograd::grad({g}, {x})[0].item<double>(), std::exp(1.0));
}

TEST(SavedTensorHooks, SeeEveryTensorThatIsSaved) {
  const Tensor x = leaf({1, 2}), w = leaf({3, 4});
  int packed = 0, unpacked = 0;
  Tensor z;
  {
    SavedTensorsHooksGuard guard(
        [&](const Tensor& t) -> PackedTensor {
          packed++;
          return std::make_shared<Tensor>(t * 2);
        },
        [&](const PackedTensor& p) {
          unpacked++;
          return *static_cast<Tensor*>(p.get()) / 2;
        });
    z = (x * w).sum();
  }
  EXPECT_EQ(packed, 2);
  EXPECT_EQ(unpacked, 0);
  z.backward();
  EXPECT_EQ(unpacked, 2);
  EXPECT_EQ(numbers(x.grad()), (Numbers{3, 4}));
  EXPECT_EQ(numbers(w.grad()), (Numbers{1, 2}));
}

TEST(SavedTensorHooks, TheInnermostCounts) {
  const Tensor x = leaf({3});
  auto pack = [](const Tensor& t) -> PackedTensor { return std::make_shared<Tensor>(t); };
  std::string which;
  SavedTensorsHooksGuard outer(pack, [&](const PackedTensor& p) {
    which += "outer ";
    return *static_cast<Tensor*>(p.get());
  });
  Tensor y;
  {
    SavedTensorsHooksGuard inner(pack, [&](const PackedTensor& p) {
      which += "inner ";
      return *static_cast<Tensor*>(p.get());
    });
    y = x.exp();
  }
  const Tensor z = y.sin();
  z.backward();
  EXPECT_EQ(which, "outer inner ");
}

TEST(SavedTensorHooks, KeepTheGraphForDoubleBackward) {
  const Tensor x = leaf({2});
  SavedTensorsHooksGuard guard([](const Tensor& t) -> PackedTensor { return std::make_shared<Tensor>(t.clone()); },
                               [](const PackedTensor& p) { return *static_cast<Tensor*>(p.get()); });
  const Tensor y = x * 3;
  const Tensor g = autograd::grad({y * y * y}, {x}, {}, std::nullopt, true)[0];
  EXPECT_EQ(numbers(autograd::grad({g}, {x})[0]), (Numbers{27 * 6 * 2}));
}

TEST(SavedTensorHooks, SaveDirectlyOnceDisabled) {
  autograd::SavedTensorDefaultHooks::disable("not here");
  EXPECT_EQ(error_of([&] { autograd::SavedTensorDefaultHooks::push_hooks({}, {}); }), "not here");
  autograd::SavedTensorDefaultHooks::enable();
  EXPECT_TRUE(autograd::SavedTensorDefaultHooks::is_enabled());
}

}  // namespace
}  // namespace cresset
