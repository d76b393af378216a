#include "cresset/autograd/function.h"

#include "cresset/transform/gradcheck.h"
#include "tests/autograd/support.h"

namespace cresset {
namespace {

using autograd::AutogradContext;
using autograd::Function;
using autograd::variable_list;

struct Cube : Function<Cube> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return x * x * x;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const Tensor x = ctx->get_saved_variables()[0];
    return {grads[0] * 3 * x * x};
  }
};

TEST(CustomFunction, UsesItsOwnGradient) {
  const Tensor x = leaf({2});
  const Tensor y = Cube::apply(x);
  EXPECT_EQ(numbers(y), (Numbers{8}));
  EXPECT_TRUE(contains(y.grad_fn()->name(), "Cube"));
  y.backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{12}));
}

TEST(CustomFunction, DifferentiatesAgain) {
  EXPECT_TRUE(autograd::gradcheck([](const variable_list& in) { return variable_list{Cube::apply(in[0])}; }, {leaf({1, 2})}));
  EXPECT_TRUE(autograd::gradgradcheck([](const variable_list& in) { return variable_list{Cube::apply(in[0])}; }, {leaf({1, 2})}));
}

TEST(CustomFunction, IsNotRecordedWithoutGradients) {
  EXPECT_FALSE(Cube::apply(vec({2})).requires_grad());
  NoGradGuard guard;
  EXPECT_FALSE(Cube::apply(leaf({2})).requires_grad());
}

TEST(CustomFunction, RaisesWhenItsGraphWasFreed) {
  const Tensor y = Cube::apply(leaf({2}));
  y.backward();
  EXPECT_TRUE(contains(error_of([&] { y.backward(); }), "freed"));
}

TEST(CustomFunction, RaisesWhenWhatItSavedWasModified) {
  Tensor x = leaf({2}).clone();
  const Tensor y = Cube::apply(x);
  x.add_(1);
  EXPECT_TRUE(contains(error_of([&] { y.backward(); }), "modified by an inplace operation"));
}

struct Scaled : Function<Scaled> {
  static Tensor forward(AutogradContext* ctx, Tensor x, double factor, const std::string& label, const std::vector<int64_t>& sizes, bool flag) {
    ctx->saved_data["factor"] = factor;
    ctx->saved_data["label"] = label;
    ctx->saved_data["sizes"] = sizes;
    ctx->saved_data["flag"] = flag;
    return x * factor;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    EXPECT_EQ(ctx->saved_data["label"].to_string(), "l");
    EXPECT_EQ(ctx->saved_data["sizes"].to_int_list(), (std::vector<int64_t>{1, 2}));
    EXPECT_TRUE(ctx->saved_data["flag"].to_bool());
    return {grads[0] * ctx->saved_data["factor"].to_double(), Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

TEST(CustomFunction, TakesArgumentsOfAnyType) {
  const Tensor x = leaf({2});
  Scaled::apply(x, 2.5, std::string("l"), std::vector<int64_t>{1, 2}, true).backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{2.5}));
}

struct Split : Function<Split> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x) {
    ctx->set_materialize_grads(false);
    return {x * 2, x * 3};
  }
  static variable_list backward(AutogradContext*, variable_list grads) {
    EXPECT_FALSE(grads[1].defined());
    return {grads[0] * 2};
  }
};

TEST(CustomFunction, SeesUndefinedGradientsWithoutMaterialisation) {
  const Tensor x = leaf({2});
  Split::apply(x)[0].backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{2}));
}

struct SplitMaterialised : Function<SplitMaterialised> {
  static variable_list forward(AutogradContext*, const Tensor& x) { return {x * 2, x * 3}; }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0] * 2 + grads[1] * 3}; }
};

TEST(CustomFunction, SeesZerosForOutputsThatWereNotUsed) {
  const Tensor x = leaf({2});
  SplitMaterialised::apply(x)[1].backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{3}));
}

struct WithIndices : Function<WithIndices> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x) {
    const Tensor doubled = x * 2, other = x * 5;
    ctx->mark_non_differentiable({other});
    return {doubled, other, (x > 0)};
  }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0] * 2}; }
};

TEST(CustomFunction, NonDifferentiableOutputsNeedNoGrad) {
  const auto out = WithIndices::apply(leaf({2}));
  EXPECT_TRUE(out[0].requires_grad());
  EXPECT_FALSE(out[1].requires_grad());
  EXPECT_FALSE(out[2].requires_grad());
}

struct Doubled : Function<Doubled> {
  static Tensor forward(AutogradContext* ctx, Tensor x) {
    x.mul_(2);
    ctx->mark_dirty({x});
    return x;
  }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0] * 2}; }
};

TEST(CustomFunction, MayChangeItsInputInPlace) {
  const Tensor x = leaf({2});
  Tensor y = x.clone();
  const Tensor z = Doubled::apply(y);
  EXPECT_TRUE(z.is_same(y));
  z.backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{2}));
}

TEST(CustomFunction, MayChangeAViewInPlace) {
  const Tensor x = leaf({2, 3});
  Tensor y = x.clone();
  Doubled::apply(y.slice(0, 0, 1));
  y.sum().backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{2, 1}));
}

TEST(CustomFunction, MayNotChangeALeafInPlace) {
  const Tensor x = leaf({2});
  EXPECT_TRUE(contains(error_of([&] { Doubled::apply(x); }), "leaf"));
}

struct Identity : Function<Identity> {
  static Tensor forward(AutogradContext*, Tensor x) { return x; }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0] * 7}; }
};

TEST(CustomFunction, ReturningItsInputMakesAnotherTensor) {
  const Tensor x = leaf({2});
  const Tensor y = Identity::apply(x);
  EXPECT_FALSE(y.is_same(x));
  EXPECT_TRUE(y.is_alias_of(x));
  y.backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{7}));
}

struct SumOfAll : Function<SumOfAll> {
  static Tensor forward(AutogradContext* ctx, const variable_list& list, double scale, std::optional<Tensor> extra) {
    ctx->saved_data["scale"] = scale;
    Tensor sum = list[0] * scale;
    for (size_t i = 1; i < list.size(); i++) sum = sum + list[i] * scale;
    return extra ? sum + *extra : sum;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const double scale = ctx->saved_data["scale"].to_double();
    variable_list out;
    for (int i = 0; i < 2; i++) out.push_back(ctx->needs_input_grad(static_cast<size_t>(i)) ? grads[0] * scale : Tensor());
    EXPECT_TRUE(ctx->needs_input_grad({{0, 2}}));
    out.emplace_back();
    out.push_back(grads[0]);
    return out;
  }
};

TEST(CustomFunction, TakesListsAndOptionalTensors) {
  const Tensor x = leaf({1}), y = vec({2}), z = leaf({3});
  SumOfAll::apply(variable_list{x, y}, 4.0, std::optional<Tensor>(z)).backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{4}));
  EXPECT_EQ(numbers(z.grad()), (Numbers{1}));
}

// Custom functions that run a backward pass inside of theirs, as checkpointing does.
struct Recompute : Function<Recompute> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return x * x;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const Tensor x = ctx->get_saved_variables()[0].detach().requires_grad_();
    AutoGradMode on(true);
    (x * x).backward(grads[0]);
    return {x.grad()};
  }
};

TEST(Reentrant, BackwardWithinBackward) {
  const Tensor x = leaf({3});
  Recompute::apply(x).backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{6}));
}

struct Nested : Function<Nested> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, int depth) {
    ctx->saved_data["depth"] = depth;
    return x * 1.0;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const int depth = static_cast<int>(ctx->saved_data["depth"].to_int());
    if (depth == 0) return {grads[0], Tensor()};
    AutoGradMode on(true);
    const Tensor x = grads[0].detach().requires_grad_();
    Nested::apply(x, depth - 1).backward(grads[0]);
    return {x.grad(), Tensor()};
  }
};

// Far more passes inside one another than one stack would hold.
TEST(Reentrant, NestsThousandsDeep) {
  const Tensor x = leaf({3});
  Nested::apply(x, 5000).backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{1}));
}

struct Failing : Function<Failing> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * 2; }
  static variable_list backward(AutogradContext*, variable_list) { throw ValueError("mine"); }
};

TEST(CustomFunction, ErrorsOfBackwardReachTheCallerWithTheirType) {
  const Tensor x = leaf({3});
  EXPECT_EQ(error_of<ValueError>([&] { (Failing::apply(x) * 2).backward(); }), "mine");
  // The engine is usable afterwards.
  (x * 2).backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{2}));
}

}  // namespace
}  // namespace cresset
