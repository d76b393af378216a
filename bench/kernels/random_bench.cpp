// Random numbers, 1 M of them and a few, into memory that is already there. Usage: random_bench [part of a row's name]
// Without an argument of its own a run uses one thread; CRESSET_NUM_THREADS allows more (thread CPU time then flatters).
#include "bench/kernels/bench.h"
#include "cresset/base/parallel.h"
#include "cresset/kernels/random/random.h"

using namespace cresset;
using namespace cresset::bench;

namespace {

constexpr int64_t kMany = 1 << 20;

RandomState state(1);
std::vector<double> out(kMany), noise(kMany), input(kMany);

template <class F> void measure(const char* name, F&& f) {
  if (wanted(name)) row(name, seconds_per_call(f) * 1e3, "ms");
}

void floating(ScalarType t) {
  char name[64];
  const auto named = [&](const char* op) {
    std::snprintf(name, sizeof name, "%s_1M_%s", op, dtype_name(t));
    return name;
  };
  void* const p = out.data();
  measure(named("rand"), [&] { kernels::uniform(state, p, t, kMany, 0, 1); });
  measure(named("randn"), [&] { kernels::normal(state, p, t, kMany, 0, 1); });
  measure(named("randn_strided"), [&] { kernels::normal(state, p, t, kMany, 0, 1, false); });
  measure(named("bernoulli"), [&] { kernels::bernoulli(state, p, t, kMany, 0.3); });
  measure(named("dropout"), [&] { kernels::dropout(state, p, nullptr, input.data(), t, kMany, 0.3); });
  measure(named("dropout_with_noise"), [&] { kernels::dropout(state, p, noise.data(), input.data(), t, kMany, 0.3); });
  measure(named("bernoulli_tensor"), [&] { kernels::bernoulli(state, p, t, kMany, input.data(), t); });
  measure(named("exponential"), [&] { kernels::exponential(state, p, t, kMany, 1); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) filter() = argv[1];
  if (!std::getenv("CRESSET_NUM_THREADS")) set_num_threads(1);
  for (ScalarType t : {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16}) floating(t);
  void* const p = out.data();
  measure("bernoulli_1M_bool", [&] { kernels::bernoulli(state, p, ScalarType::Bool, kMany, 0.3); });
  measure("randperm_1M_int64", [&] { kernels::randperm(state, p, ScalarType::Long, kMany); });
  measure("randperm_60k_int64", [&] { kernels::randperm(state, p, ScalarType::Long, 60000); });
  measure("randint_1M_int64", [&] { kernels::random_from_to(state, p, ScalarType::Long, kMany, 0, 1000); });
  measure("randint_1M_int32", [&] { kernels::random_from_to(state, p, ScalarType::Int, kMany, 0, 1000); });
  measure("randint_wide_1M_int64", [&] { kernels::random_from_to(state, p, ScalarType::Long, kMany, 0, int64_t{1} << 40 | 1); });
  measure("random_1M_int64", [&] { kernels::random_full(state, p, ScalarType::Long, kMany); });
  measure("rand_16_float32", [&] { kernels::uniform(state, p, ScalarType::Float, 16, 0, 1); });
  measure("randn_16_float32", [&] { kernels::normal(state, p, ScalarType::Float, 16, 0, 1); });
  measure("randn_4_float32", [&] { kernels::normal(state, p, ScalarType::Float, 4, 0, 1); });
  std::fill_n(static_cast<float*>(static_cast<void*>(input.data())), 10000, 0.5f);
  std::vector<int64_t> picks(1000);
  measure("multinomial_10k_1000_replacement",
          [&] { kernels::multinomial(state, picks.data(), input.data(), ScalarType::Float, 1, 10000, 10000, 1, 1000, true); });
  measure("multinomial_10k_1", [&] { kernels::multinomial(state, picks.data(), input.data(), ScalarType::Float, 1, 10000, 10000, 1, 1, false); });
}
