// Every method of every distribution and every divergence gives PyTorch's numbers (golden_distributions.inc), and Python's to the bit, which
// tests/python/distributions/front_ends_test.py looks at in what is written here.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "distributions/every_distribution.h"
#include "distributions/texts.h"

namespace cresset::distributions {
namespace {

struct Row {
  const char* name;
  const char* shape;
  const char* numbers;
};
// Derivatives of gamma variables by their shape are approximations in PyTorch, off by parts in 10,000.
const std::set<std::string> kThroughGamma = {"Beta", "Chi2", "Dirichlet", "DirichletCorner", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT"};

const Row kGolden[] = {
#include "distributions/golden_distributions.inc"
};

template <class T> std::vector<T> parsed(const char* text) {
  std::vector<T> numbers;
  char* end = nullptr;
  for (double x = std::strtod(text, &end); end != text; x = std::strtod(text, &end)) {
    numbers.push_back(static_cast<T>(x));
    text = end;
  }
  return numbers;
}

std::vector<double> doubles(const Tensor& t) {
  const Tensor plain = t.detach().to(ScalarType::Double).contiguous();
  return std::vector<double>(plain.data_ptr<double>(), plain.data_ptr<double>() + plain.numel());
}

// KL(p || q) of all pairs of distributions that have a rule and fit each other.
std::map<std::string, Tensor> divergences(ScalarType dtype) {
  using Made = std::vector<std::pair<std::string, Distribution>>;
  const auto made = [&] {
    Made all;
    for (const auto& [name, make] : distributions()) {
      Leaves leaves(dtype);
      try {
        all.emplace_back(name, make(leaves));
      } catch (const Error&) {
        if (dtype != ScalarType::Half && dtype != ScalarType::BFloat16) throw;
      }
    }
    return all;
  };
  const Made left = made(), right = made();
  std::map<std::string, Tensor> found;
  for (const auto& [p, distribution_p] : left)
    for (const auto& [q, distribution_q] : right) {
      try {
        found[p + " " + q] = kl_divergence(distribution_p, distribution_q);
      } catch (const Error&) {}
    }
  return found;
}

std::map<std::string, Tensor> everything(ScalarType dtype) {
  std::map<std::string, Tensor> all;
  for (const auto& [name, make] : distributions())
    for (auto& [method, value] : numbers_of(make, dtype)) all[name + " " + method] = value;
  for (auto& [pair, value] : divergences(dtype)) all["KL " + pair] = value;
  return all;
}

TEST(Distributions, PyTorchsNumbers) {
  const std::map<std::string, Tensor> ours = everything(ScalarType::Double), singles = everything(ScalarType::Float);
  std::set<std::string> known;
  for (const Row& row : kGolden) {
    known.insert(row.name);
    // PyTorch has gradients with respect to the part above the diagonal of a Cholesky factor, which is not read.
    if (std::strcmp(row.name, "WishartTril log_prob.grad1") == 0) continue;
    const std::string distribution(row.name, std::strcspn(row.name, " "));
    const bool single = distribution.rfind("GeneralizedPareto", 0) == 0;  // of which PyTorch has no float64
    const bool rough = kThroughGamma.count(distribution) && std::strstr(row.name, "rsample.grad");
    const double tolerance = rough ? 5e-4 : single ? 1e-5 : 1e-7;
    const auto& from = single ? singles : ours;
    const auto at = from.find(row.name);
    if (at == from.end()) {
      ADD_FAILURE() << row.name << " is missing";
      continue;
    }
    EXPECT_EQ(at->second.sizes().vec(), parsed<int64_t>(row.shape)) << row.name;
    const std::vector<double> numbers = doubles(at->second);
    const std::vector<double> golden = parsed<double>(row.numbers);
    ASSERT_EQ(numbers.size(), golden.size()) << row.name;
    for (size_t i = 0; i < numbers.size(); i++) {
      const double a = numbers[i], b = golden[i];
      if (std::isnan(a) && std::isnan(b)) continue;
      if (a == b) continue;
      EXPECT_NEAR(a, b, tolerance * std::max(1.0, std::fabs(b))) << row.name << ", number " << i;
    }
  }
  // PyTorch gives no gradient of a Wishart sample.
  for (const auto& [name, value] : ours)
    EXPECT_TRUE(known.count(name) || name.rfind("Wishart rsample.grad", 0) == 0 || name.rfind("WishartTril rsample.grad", 0) == 0)
        << name << " has no golden numbers";
}

// Writes all numbers, for the comparison with Python.
TEST(Distributions, Written) {
  const char* path = std::getenv("CRESSET_DISTRIBUTIONS");
  if (!path) GTEST_SKIP() << "only run by front_ends_test.py";
  std::FILE* file = std::fopen(path, "w");
  ASSERT_TRUE(file);
  for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16})
    for (const auto& [name, value] : everything(dtype)) {
      std::fprintf(file, "%s|%s|%s|", name.c_str(), dtype_name(dtype), dtype_name(value.scalar_type()));
      for (const int64_t size : value.sizes()) std::fprintf(file, "%lld ", static_cast<long long>(size));
      std::fputc('|', file);
      for (const double x : doubles(value)) std::fprintf(file, "%a ", x);
      std::fputc('\n', file);
    }
  for (const Texts& texts : {mistakes(), selves(), checks(), transformed()})
    for (const auto& [name, text] : texts) {
      std::fprintf(file, "%s|text|", name.c_str());
      for (const char c : text) c == '\n' ? std::fputs("\\n", file) : std::fputc(c, file);
      std::fputc('\n', file);
    }
  std::fclose(file);
}

}  // namespace
}  // namespace cresset::distributions
