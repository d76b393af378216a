// Generators of random numbers.

#include <mutex>

#include "cresset/core/random/generator.h"
#include "cresset/graph/script/values.h"

namespace cresset::graph::script {

namespace {

void make(Inputs in, size_t, Datum& out) {
  if (!in[0]->is_none()) {
    const Device device = in[0]->to_device();
    CRESSET_CHECK(device.is_cpu(), "Generator: generators are on the CPU, got device ", device);
  }
  out = Datum(in[1]->is_none() ? make_generator() : make_generator(static_cast<uint64_t>(as_int(*in[1]))));
}

}  // namespace

void add_generator_builtins() {
  add_builtin("aten::Generator(*, Device? device=None, int? seed=None) -> Generator", make, false);
  add_builtin(
      "aten::manual_seed(int seed) -> ()",
      [](Inputs in, size_t, Datum& out) {
        manual_seed(static_cast<uint64_t>(as_int(*in[0])));
        out = Datum();
      },
      false);
  add_builtin(
      "aten::manual_seed.generator(Generator(a!) self, int seed) -> Generator(a!)",
      [](Inputs in, size_t, Datum& out) {
        Generator g = in[0]->toGenerator();
        {
          const std::lock_guard lock(g.mutex());
          g.set_current_seed(static_cast<uint64_t>(as_int(*in[1])));
        }
        out = Datum(std::move(g));
      },
      false);
  add_builtin(
      "aten::seed(Generator(a!) self) -> int",
      [](Inputs in, size_t, Datum& out) {
        Generator g = in[0]->toGenerator();
        const std::lock_guard lock(g.mutex());
        put(out, static_cast<int64_t>(g.seed()));
      },
      false);
  add_builtin(
      "aten::initial_seed(Generator self) -> int",
      [](Inputs in, size_t, Datum& out) {
        const Generator g = in[0]->toGenerator();
        const std::lock_guard lock(g.mutex());
        put(out, static_cast<int64_t>(g.current_seed()));
      },
      false);
}

}  // namespace cresset::graph::script
