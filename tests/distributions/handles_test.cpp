// Handles, distributions and rules of one's own, caches, checks.

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <thread>

#include "distributions/every_distribution.h"
#include "error_of.h"

namespace cresset::distributions {
namespace {

bool same(const Tensor& a, const Tensor& b) { return equal(a, b); }

TEST(Handles, AreValuesThatShareAImpl) {
  const Normal distribution(zeros({2}), 1.0);
  const Distribution general = distribution;
  EXPECT_TRUE(general.is<Normal>());
  EXPECT_TRUE(general.is<ExponentialFamily>());
  EXPECT_FALSE(general.is<Beta>());
  EXPECT_TRUE(general.as<Normal>().loc().is_same(distribution.loc()));
  EXPECT_EQ(error_of<TypeError>([&] { general.as<Beta>(); }), "distributions: a Normal is not a Beta");
  EXPECT_TRUE(Distribution(Chi2(2.0)).is<Gamma>());
  EXPECT_FALSE(Distribution().defined());
  EXPECT_NE(error_of([] { Distribution().mean(); }).find("empty"), std::string::npos);
}

TEST(Handles, NumbersTakeTheDtypeOfTensors) {
  EXPECT_EQ(Normal(0, 1).loc().scalar_type(), ScalarType::Float);
  EXPECT_EQ(Poisson(0).rate().item<float>(), 0);
  EXPECT_THROW(Exponential(0), ValueError);
  EXPECT_EQ(Normal(0, ones({3}, ScalarType::Double)).loc().scalar_type(), ScalarType::Double);
  EXPECT_EQ(Normal(0, ones({3}, ScalarType::Double)).batch_shape().vec(), std::vector<int64_t>{3});
  EXPECT_EQ(Beta(1, 2).concentration1().item<float>(), 1);
}

TEST(Handles, ExpandMakesViewsAndKeepsTheKind) {
  const Normal distribution(zeros({2}), ones({2}));
  const Distribution wide = distribution.expand({3, 2});
  EXPECT_TRUE(wide.is<Normal>());
  EXPECT_TRUE(wide.as<Normal>().loc().is_alias_of(distribution.loc()));
  EXPECT_EQ(wide.sample({4}).sizes().vec(), (std::vector<int64_t>{4, 3, 2}));
  EXPECT_EQ(distribution.batch_shape().vec(), std::vector<int64_t>{2});
}

TEST(Handles, SamplesHaveNoHistoryAndRsamplesDo) {
  Tensor loc = zeros({2});
  loc.requires_grad_();
  const Normal distribution(loc, 1.0);
  EXPECT_FALSE(distribution.sample().requires_grad());
  EXPECT_TRUE(distribution.rsample().requires_grad());
  EXPECT_FALSE(TransformedDistribution(distribution, ExpTransform()).sample().requires_grad());
}

TEST(Handles, LazyTwinsAreComputedOnceWhoeverAsks) {
  Tensor probs = rand({1000});
  probs.requires_grad_();
  const Bernoulli distribution(probs);
  std::vector<Tensor> seen(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < seen.size(); i++) threads.emplace_back([&, i] { seen[i] = distribution.logits(); });
  for (std::thread& t : threads) t.join();
  for (const Tensor& t : seen) EXPECT_TRUE(t.is_same(seen[0]));
  const NoGradGuard off;
  EXPECT_TRUE(Bernoulli(probs).logits().requires_grad()) << "recorded whatever the mode";
}

TEST(Checks, MayBeSwitchedOff) {
  EXPECT_NO_THROW(Normal(0.0, -1.0, false));
  Distribution::set_default_validate_args(false);
  EXPECT_NO_THROW(Normal(0.0, -1.0));
  EXPECT_THROW(Normal(0.0, -1.0, true), ValueError);
  EXPECT_NO_THROW(Bernoulli(0.5).log_prob(scalar_tensor(0.5)));
  Distribution::set_default_validate_args(true);
  EXPECT_THROW(Normal(0.0, -1.0), ValueError);
  EXPECT_THROW(Bernoulli(0.5).log_prob(scalar_tensor(0.5)), ValueError);
}

TEST(Checks, DrawNothing) {
  manual_seed(3);
  const Tensor first = rand({4});
  manual_seed(3);
  EXPECT_THROW(Wishart(1.0, eye(2)), ValueError);
  EXPECT_THROW(MixtureSameFamily(Normal(0.0, 1.0), Normal(0.0, 1.0)), ValueError);
  EXPECT_TRUE(same(rand({4}), first));
}

TEST(Checks, NameWhatIsMissing) {
  EXPECT_EQ(error_of<NotImplementedError>([] { Poisson(1.0).cdf(scalar_tensor(0.0)); }), "Poisson does not implement cdf");
  EXPECT_EQ(error_of<NotImplementedError>([] { Bernoulli(0.5).rsample(); }), "Bernoulli does not implement rsample");
  EXPECT_EQ(error_of<NotImplementedError>([] { AbsTransform().log_abs_det_jacobian(ones({1}), ones({1})); }),
            "AbsTransform does not implement log_abs_det_jacobian");
}

TEST(Checks, DirichletSamplesAreDifferentiatedOnce) {
  Tensor c = ones({3});
  c.requires_grad_();
  const Tensor x = Dirichlet(c).rsample();
  const std::string text = error_of([&] { autograd::grad({x[0]}, {c}, {}, {}, true); });
  EXPECT_NE(text.find("once_differentiable"), std::string::npos) << text;
}

// A distribution of one's own: a coin that always shows one side.
struct CertainImpl : DistributionImpl {
  explicit CertainImpl(Tensor side) {
    slots_ = {std::move(side)};
    batch_shape_ = slots_[0].sizes().vec();
  }
  static const Kind kKind;
  const Kind& kind() const override { return kKind; }
  DistributionImpl* copy() const override { return new CertainImpl(*this); }
  ArrayRef<Argument> arguments() const override {
    static constexpr Argument all[] = {{"side", 0, constraints::boolean}};
    return all;
  }
  ArrayRef<int8_t> slot_dims() const override {
    static constexpr int8_t all[] = {0};
    return all;
  }
  Constraint support() const override { return constraints::boolean(); }
  Tensor mean() const override { return kept(0); }
  Tensor sample(IntArrayRef sample_shape) const override { return kept(0).expand(extended(sample_shape)); }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    return (value == kept(0)).to(kept(0)).log();
  }
};
const Kind CertainImpl::kKind{"Certain", &Distribution::kKind};

class Certain : public Distribution {
 public:
  static constexpr const Kind& kKind = CertainImpl::kKind;
  using Distribution::Distribution;
  explicit Certain(const Tensor& side, Validate validate_args = {}) : Distribution(new CertainImpl(side), validate_args) {}
};

TEST(OwnDistributions, AreAsOthersAre) {
  const Certain distribution(ones({2}));
  EXPECT_EQ(distribution.str(), "Certain(side: torch.Size([2]))");
  EXPECT_EQ(distribution.expand({3, 2}).sample({4}).sizes().vec(), (std::vector<int64_t>{4, 3, 2}));
  EXPECT_EQ(Independent(distribution, 1).log_prob(ones({2})).item<float>(), 0);
  EXPECT_THROW(Certain(full({2}, 0.5)), ValueError);
  EXPECT_THROW(distribution.log_prob(full({2}, 0.5)), ValueError);
  EXPECT_EQ(error_of<NotImplementedError>([&] { distribution.entropy(); }), "Certain does not implement entropy");
}

TEST(OwnDistributions, HaveDivergencesOnceTheyAreRegistered) {
  const Certain p(ones({2}));
  EXPECT_EQ(error_of<NotImplementedError>([&] { kl_divergence(p, Bernoulli(0.5)); }), "kl_divergence: no rule for Certain and Bernoulli");
  register_kl(Certain::kKind, Bernoulli::kKind, [](const Distribution& a, const Distribution& b) { return -b.log_prob(a.mean()); });
  EXPECT_TRUE(allclose(kl_divergence(p, Bernoulli(0.25)), full({2}, std::log(4.0))));
}

// Kinds that derive from Gamma, for the choice of the most derived rule.
const Kind kLeft{"Left", &Gamma::kKind, true};
const Kind kLower{"Lower", &kLeft, true};
struct KindOf : ExponentialFamilyImpl {
  explicit KindOf(const Kind& k) : mine(k) {}
  const Kind& kind() const override { return mine; }
  DistributionImpl* copy() const override { return new KindOf(*this); }
  std::vector<Tensor> natural_params() const override { return {}; }
  Tensor log_normalizer(const std::vector<Tensor>&) const override { return {}; }
  const Kind& mine;
};
Distribution of_kind(const Kind& k) { return Distribution(std::make_shared<KindOf>(k)); }

template <int number> Tensor constant(const Distribution&, const Distribution&) { return scalar_tensor(number); }

TEST(OwnDistributions, TakeTheRuleOfTheMostDerivedKinds) {
  const auto kl = [](const Kind& p, const Kind& q) { return kl_divergence(of_kind(p), of_kind(q)).item<int>(); };
  register_kl(kLeft, Gamma::kKind, constant<1>);
  EXPECT_EQ(kl(kLeft, kLeft), 1);
  EXPECT_EQ(kl(kLower, Gamma::kKind), 1);
  register_kl(kLower, kLeft, constant<2>);
  EXPECT_EQ(kl(kLower, kLower), 2);
  EXPECT_EQ(kl(kLower, Gamma::kKind), 1);
  register_kl(Gamma::kKind, kLower, constant<3>);
  testing::internal::CaptureStderr();
  EXPECT_EQ(kl(kLeft, kLower), 1) << "by the first kind";
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "warning: kl_divergence: several rules fit Left and Lower; register_kl for Left and Lower decides\n");
  register_kl(kLeft, kLower, constant<4>);
  EXPECT_EQ(kl(kLeft, kLower), 4);
  register_kl(kLeft, kLower, constant<5>);
  EXPECT_EQ(kl(kLeft, kLower), 5) << "a second registration replaces the first";
}

TEST(Transforms, InversesOfInversesAreTheTransform) {
  const Transform exp = ExpTransform(), all = ComposeTransform({ExpTransform(), AffineTransform(0.0, 2.0)});
  EXPECT_TRUE(exp.inv().inv() == exp);
  EXPECT_TRUE(exp.inv() != exp);
  EXPECT_TRUE(all.inv().inv() == all);
  EXPECT_TRUE(ExpTransform() == ExpTransform());
  EXPECT_TRUE(exp != TanhTransform());
}

TEST(Transforms, CachesGiveTheVeryArgumentBack) {
  const Tensor x = full({2}, 30.0);
  const Transform plain = TanhTransform(), cached = TanhTransform(1);
  EXPECT_TRUE(std::isinf(plain.inv()(plain(x))[0].item<float>()));
  const Tensor y = cached(x);
  EXPECT_TRUE(cached.inv()(y).is_same(x));
  EXPECT_TRUE(cached(x).is_same(y));
  EXPECT_FALSE(cached.inv()(y.clone()).is_same(x)) << "another tensor of the same numbers";
  EXPECT_TRUE(cached.with_cache(1) == cached);
  EXPECT_EQ(plain.with_cache().impl().cache_size(), 1);
  EXPECT_EQ(plain.impl().cache_size(), 0);
  for (const Transform& t :
       {Transform(ComposeTransform({TanhTransform(), AffineTransform(0.0, 2.0)}, 1)), Transform(IndependentTransform(TanhTransform(), 1, 1))})
    EXPECT_TRUE(t.inv()(t(x)).is_same(x)) << t.str();
}

TEST(Transforms, TransformedDistributionsTakeValuesBackThroughCaches) {
  const TransformedDistribution distribution(Normal(zeros({2}), 20.0), {TanhTransform(1)});
  manual_seed(0);
  EXPECT_TRUE(distribution.log_prob(distribution.rsample()).isfinite().all().item<bool>());
}

TEST(Transforms, TellWhatTheyAreMadeOf) {
  const Tensor e = full({2}, 3.0);
  EXPECT_TRUE(same(PowerTransform(e).exponent(), e));
  EXPECT_TRUE(AffineTransform(1.5, e).scale().tensor().is_same(e));
  EXPECT_EQ(AffineTransform(1.5, e).loc().number().to<double>(), 1.5);
  EXPECT_TRUE(CumulativeDistributionTransform(Normal(0.0, 1.0)).distribution().is<Normal>());
  EXPECT_EQ(ReshapeTransform({2, 3}, {6}).in_shape(), (Shape{2, 3}));
  EXPECT_EQ(ReshapeTransform({2, 3}, {6}).out_shape(), Shape{6});
  EXPECT_EQ(ComposeTransform({ExpTransform(), TanhTransform()}).parts().size(), 2u);
  EXPECT_TRUE(IndependentTransform(ExpTransform(), 2).base_transform() == ExpTransform());
  EXPECT_EQ(IndependentTransform(ExpTransform(), 2).reinterpreted_batch_ndims(), 2);
  const CatTransform cat({ExpTransform(), TanhTransform()}, -1, {1, 2});
  EXPECT_TRUE(cat.transforms()[1] == TanhTransform());
  EXPECT_EQ(cat.lengths(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(cat.dim(), -1);
  EXPECT_EQ(StackTransform({ExpTransform()}, 1).dim(), 1);
  EXPECT_EQ(StackTransform({ExpTransform()}, 1).transforms().size(), 1u);
}

TEST(Handles, ArePrintedAsPythonShowsThem) {
  std::ostringstream out;
  out << Normal(0.0, 1.0) << ", " << constraints::positive() << ", " << ExpTransform().inv();
  EXPECT_EQ(out.str(), "Normal(loc: 0.0, scale: 1.0), GreaterThan(lower_bound=0.0), _InverseTransform(ExpTransform())");
}

TEST(Handles, KnowTheShapeOfWhatIsGiven) {
  EXPECT_EQ(Categorical({}, zeros({2, 3})).param_shape(), (Shape{2, 3}));
  EXPECT_EQ(Multinomial(4, ones({3})).param_shape(), Shape{3});
  EXPECT_EQ(Binomial(4, full({3}, 0.5)).param_shape(), Shape{3});
  EXPECT_EQ(LKJCholesky(3).dim(), 3);
}

struct Cube : TransformImpl {
  const char* name() const override { return "Cube"; }
  Constraint domain() const override { return constraints::real(); }
  Constraint codomain() const override { return constraints::real(); }
  TransformImpl* copy(int64_t) const override { return new Cube(*this); }
  TensorOrNumber sign() const override { return 1; }
  Tensor call(const Tensor& x) const override { return x.pow(3); }
  Tensor inverse(const Tensor& y) const override { return y.sign() * y.abs().pow(1.0 / 3); }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor&) const override { return log(3 * x.square()); }
};

TEST(Transforms, OfOnesOwn) {
  const Transform cube{std::make_shared<const Cube>()};
  const TransformedDistribution distribution(Normal(0.0, 1.0), cube);
  const Tensor at = full({}, 8.0);
  EXPECT_TRUE(allclose(distribution.log_prob(at), Normal(0.0, 1.0).log_prob(full({}, 2.0)) - std::log(12.0)));
  EXPECT_TRUE(allclose(distribution.cdf(at), Normal(0.0, 1.0).cdf(full({}, 2.0))));
  EXPECT_EQ(cube.str(), "Cube()");
  EXPECT_TRUE(cube == cube.with_cache(0));
}

struct EvenImpl : ConstraintImpl {
  EvenImpl() : ConstraintImpl(Region::own) {}
  Tensor check(const Tensor& value) const override { return value % 2 == 0; }
  bool is_discrete() const override { return true; }
  int64_t event_dim() const override { return 0; }
  std::string str() const override { return "Even()"; }
};

TEST(Constraints, OfOnesOwnWithRules) {
  const Constraint even(std::make_shared<const EvenImpl>());
  EXPECT_TRUE(constraints::independent(even, 1).check(full({3}, 4.0)).item<bool>());
  EXPECT_EQ(constraints::independent(even, 1).str(), "IndependentConstraint(Even(), 1)");
  EXPECT_EQ(error_of<NotImplementedError>([&] { biject_to(even); }), "no transform leads into a constraint of class Even");
  biject_to.register_rule(even, [](const Constraint&) { return AffineTransform(0.0, 2.0); });
  EXPECT_TRUE(biject_to(even) == AffineTransform(0.0, 2.0));
  EXPECT_EQ(error_of<NotImplementedError>([&] { transform_to(even); }), "no transform leads into a constraint of class Even");
}

TEST(Constraints, RulesOfOnesOwnGoBeforeTheBuiltIn) {
  const Constraint unit = constraints::interval(0.0, 1.0);
  transform_to.register_rule(unit, [](const Constraint& c) {
    return ComposeTransform({SigmoidTransform(), AffineTransform(c.lower_bound(), c.upper_bound())});
  });
  EXPECT_TRUE(transform_to(constraints::interval(0.0, 3.0)) == ComposeTransform({SigmoidTransform(), AffineTransform(0.0, 3.0)}));
  EXPECT_TRUE(biject_to(unit) == SigmoidTransform());
}

TEST(Constraints, TransformsLeadIntoThem) {
  manual_seed(5);
  namespace c = constraints;
  for (const Constraint& region : {c::positive(), c::greater_than(2.0), c::less_than(-1.0), c::unit_interval(), c::interval(-2.0, 3.0), c::simplex(), c::real(),
                                   c::corr_cholesky(), c::independent(c::positive(), 1)}) {
    const Transform t = biject_to(region);
    const Tensor x = randn({5, 6}, ScalarType::Double), y = t(x);
    EXPECT_TRUE(region.check(y).all().item<bool>()) << region.str();
    EXPECT_TRUE(allclose(t.inv()(y), x)) << region.str();
  }
  for (const Constraint& region : {c::lower_cholesky(), c::positive_definite(), c::positive_semidefinite()})
    EXPECT_TRUE(region.check(transform_to(region)(randn({5, 3, 3}, ScalarType::Double))).all().item<bool>()) << region.str();
}

}  // namespace
}  // namespace cresset::distributions
