// A program plans its memory in the first run with inputs of given sizes; later runs allocate none.

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "cresset/autograd/grad_mode.h"
#include "cresset/core/memory/allocator.h"
#include "cresset/graph/io/pt2.h"
#include "cresset/io/safetensors.h"
#include "cresset/ops/functions.h"

// Sanitizers have a malloc of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
#define CRESSET_COUNTS_MALLOC 1
static thread_local int64_t t_mallocs = 0;
extern "C" {
void* __libc_malloc(size_t n);
void* __libc_memalign(size_t alignment, size_t n);
void* __libc_calloc(size_t count, size_t n);
void* __libc_realloc(void* p, size_t n);
void* malloc(size_t n) {
  t_mallocs++;
  return __libc_malloc(n);
}
void* calloc(size_t count, size_t n) {
  t_mallocs++;
  return __libc_calloc(count, n);
}
void* realloc(void* p, size_t n) {
  t_mallocs++;
  return __libc_realloc(p, n);
}
int posix_memalign(void** p, size_t alignment, size_t n) {
  t_mallocs++;
  *p = __libc_memalign(alignment, n);
  return *p ? 0 : ENOMEM;
}
void* aligned_alloc(size_t alignment, size_t n) {
  t_mallocs++;
  return __libc_memalign(alignment, n);
}
}
#endif

namespace cresset::graph {
namespace {

struct Counts {
  int64_t mallocs = 0, system = 0, shared = 0;
  static Counts now() {
    const AllocatorStats s = cpu_allocator_stats();
    Counts c{0, s.num_system_allocs, s.num_allocs};
#ifdef CRESSET_COUNTS_MALLOC
    c.mallocs = t_mallocs;
#endif
    return c;
  }
};

Program straight(int length, int64_t width) {
  std::string text = "graph @f(%x: Tensor) {\n  tensor @w: float32[" + std::to_string(width) + ", " + std::to_string(width) + "]\n  %v0: Tensor = relu(%x)\n";
  for (int i = 1; i < length; i++) {
    const std::string a = "%v" + std::to_string(i - 1), b = "%v" + std::to_string(i);
    text += "  " + b + ": Tensor = " + (i % 3 == 0 ? "mm(" + a + ", @w)" : i % 3 == 1 ? "add.Tensor(" + a + ", %x, 1)" : "tanh(" + a + ")") + "\n";
  }
  const auto g = parse_graph(text + "  %s: Tensor = sum(%v" + std::to_string(length - 1) + ", none)\n  return %s\n}");
  g->find_constant("w")->bind(randn({width, width}) * 0.1);
  return Program(*g);
}

TEST(ProgramMemory, RunsAfterTheFirstAllocateNothing) {
  const Program p = straight(30, 64);
  const Tensor x = randn({64, 64});
  std::vector<Datum> values(1);
  Tensor expected;
  for (int run = 0; run < 4; run++) {
    values[0] = x;
    const Counts before = Counts::now();
    values = p.run(std::move(values));
    const Counts after = Counts::now();
    EXPECT_EQ(p.memory().planned, run > 0);
    if (run == 0) expected = values[0].to_tensor();
    EXPECT_TRUE(equal(values[0].to_tensor(), expected));
    if (run < 2) continue;
    EXPECT_EQ(after.mallocs - before.mallocs, 0);
    EXPECT_EQ(after.system - before.system, 0);
  }
  // Thirty values of 16 KiB, of which three live at once.
  EXPECT_EQ(p.memory().blocks, 30u);
  EXPECT_EQ(p.memory().block_bytes, size_t{30} * 64 * 64 * 4);
  EXPECT_LE(p.memory().arena_bytes, size_t{3} * (64 * 64 * 4 + 64));
}

TEST(ProgramMemory, EachSizeHasItsPlan) {
  const Program p = straight(12, 32);
  const auto run = [&](int64_t rows) {
    const Tensor x = randn({rows, 32});
    const Tensor a = p.run_tensors({x})[0];
    const bool planned = p.memory().planned;
    EXPECT_TRUE(equal(p.run_tensors({x})[0], a));
    EXPECT_TRUE(p.memory().planned);
    return planned;
  };
  for (const int64_t rows : {16, 32, 48}) EXPECT_FALSE(run(rows));
  for (const int64_t rows : {48, 16, 32}) EXPECT_TRUE(run(rows));
}

TEST(ProgramMemory, ResultsAreNotOverwritten) {
  const Program p(
      *parse_graph("graph @f(%x: Tensor) { %a: Tensor = exp(%x) %b: Tensor = neg(%a) %c: Tensor = view(%b, [-1]) %d: Tensor = exp(%b) %s: Tensor = "
                   "sum(%d, none) return %c, %s }"));
  std::vector<std::vector<Tensor>> kept;
  for (int i = 0; i < 5; i++) kept.push_back(p.run_tensors({full({40, 40}, i * 1.0)}));
  for (int i = 0; i < 5; i++) EXPECT_TRUE(equal(kept[static_cast<size_t>(i)][0], full({40, 40}, i * 1.0).exp().neg().view({-1})));
}

// One way keeps what the other way gives back.
TEST(ProgramMemory, BranchesThatKeepOtherValues) {
  const Program p(*parse_graph(R"(graph @f(%c: bool, %x: Tensor) {
  %a: Tensor = exp(%x)
  %r: Tensor = ir::if(%c) {
    return %a
  } {
    %b: Tensor = neg(%a)
    return %b
  }
  %t: Tensor = neg(%r)
  %u: Tensor = neg(%t)
  return %r, %u
})"));
  const Tensor x = randn({50, 50}), e = x.exp();
  std::vector<std::vector<Datum>> kept;
  for (const bool c : {false, true, false, true, true, false}) {
    kept.push_back(p.run({c, x}));
    const Tensor expected = c ? e : -e;
    EXPECT_TRUE(equal(kept.back()[1].to_tensor(), expected));
  }
  size_t i = 0;
  for (const bool c : {false, true, false, true, true, false}) EXPECT_TRUE(equal(kept[i++][0].to_tensor(), c ? e : -e));
}

TEST(ProgramMemory, ThreadsHavePlansOfTheirOwn) {
  const Program p = straight(20, 48);
  const Tensor x = randn({48, 48}), expected = p.run_tensors({x})[0];
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; t++)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; i++) wrong[t] += !equal(p.run_tensors({x})[0], expected);
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST(ProgramMemory, GradientsKeepWhatTheyNeed) {
  const Program p(
      *parse_graph("graph @f(%x: Tensor) { %a: Tensor = exp(%x) %b: Tensor = tanh(%a) %c: Tensor = mul.Tensor(%a, %b) %s: Tensor = sum(%c, none) "
                   "return %s }"));
  const auto gradient = [&] {
    const Tensor x = full({40, 40}, 0.5).set_requires_grad(true);
    p.run_tensors({x})[0].backward();
    return x.grad();
  };
  const Tensor first = gradient();
  for (int i = 0; i < 4; i++) EXPECT_TRUE(equal(gradient(), first));
}

TEST(ProgramMemory, CanBeLeftToTheAllocator) {
  ProgramOptions options;
  options.plan_memory = false;
  const auto g = parse_graph("graph @f(%x: Tensor) { %a: Tensor = exp(%x) %s: Tensor = sum(%a, none) return %s }");
  const Program p(*g, options);
  for (int i = 0; i < 3; i++) p.run_tensors({ones({40, 40})});
  EXPECT_FALSE(p.memory().planned);
  EXPECT_EQ(p.memory().blocks, 0u);
}

// Convolutions, a block of a language model: kernels of all kinds, with the memory that they work in.
TEST(ProgramMemory, NetworksAllocateNothing) {
  const NoGradGuard no_gradients;
  for (const std::string name : {"conv", "block", "layers"}) {
    const ExportedProgram program = load_program(CRESSET_GRAPH_DATA + name + ".pt2");
    std::map<std::string, Tensor> tensors;
    for (const auto& item : io::load_safetensors(CRESSET_GRAPH_DATA + name + ".safetensors").tensors) tensors[item.key()] = item.value();
    std::vector<Datum> values;
    int64_t system = 0;
    for (int run = 0; run < 4; run++) {
      values.clear();
      for (size_t i = 0; tensors.count("input" + std::to_string(i)); i++) values.emplace_back(tensors["input" + std::to_string(i)]);
      const Counts before = Counts::now();
      values = program.run(std::move(values));
      const Counts after = Counts::now();
      system = after.system - before.system;
    }
    EXPECT_TRUE(program.program().memory().planned) << name;
    EXPECT_EQ(system, 0) << name;
  }
}

}  // namespace
}  // namespace cresset::graph
