// Generator state: its bytes are PyTorch's, and it is shared, copied and restored as there.

#include "cresset/core/random/generator.h"

#include <gtest/gtest.h>

#include <thread>

#include "cresset/tensor.h"

namespace cresset {
namespace {

// FNV-1a, so that 5056 bytes of state are compared by one number.
uint64_t digest(const Generator& g) {
  uint64_t h = 0xcbf29ce484222325;
  for (const uint8_t b : g.get_state()) h = (h ^ b) * 0x100000001b3;
  return h;
}

// The numbers come from torch.Generator().get_state() after the same calls.
TEST(GeneratorState, IsPyTorchsAfterEveryKindOfDraw) {
  const Generator g = make_generator(7);
  EXPECT_EQ(g.get_state().size(), 5056u);
  EXPECT_EQ(digest(g), 0x7f4ed5c44183ee68u);
  cresset::rand({10}, g);
  EXPECT_EQ(digest(g), 0xa315b54b2608d22du);
  cresset::randn({3}, g);
  EXPECT_EQ(digest(g), 0x2745308768b6369eu);
  cresset::randn({20}, g);
  EXPECT_EQ(digest(g), 0xecbd73de06f5bb1eu);
  cresset::randperm(9, g);
  EXPECT_EQ(digest(g), 0x47a19256cccff40eu);
  cresset::rand({1000}, g);
  EXPECT_EQ(digest(g), 0xf7c1314d2b3a4f8bu);
  const Tensor x = cresset::rand({3}, g);
  EXPECT_EQ(x.data_ptr<float>()[0], 0.9941509962081909f);
  EXPECT_EQ(x.data_ptr<float>()[2], 0.05395102500915527f);
}

TEST(GeneratorState, RestoresExactly) {
  Generator g = make_generator(1);
  cresset::randn({5}, g);  // leaves a spare normal number behind
  const std::vector<uint8_t> state = g.get_state();
  const Tensor a = cresset::randn({7}, g);
  g.set_state(state);
  const Tensor b = cresset::randn({7}, g);
  EXPECT_TRUE(a.equal(b));
  Generator other = make_generator(99);
  other.set_state(state);
  EXPECT_TRUE(cresset::randn({7}, other).equal(a));
  EXPECT_EQ(other.current_seed(), 1u);
}

TEST(GeneratorState, RefusesWhatNoGeneratorWrote) {
  Generator g = make_generator(1);
  const std::vector<uint8_t> before = g.get_state();
  EXPECT_THROW(g.set_state({}), Error);
  EXPECT_THROW(g.set_state(std::vector<uint8_t>(5055)), Error);
  EXPECT_THROW(g.set_state(std::vector<uint8_t>(5057)), Error);
  std::vector<uint8_t> garbage(5056, 0xff);
  EXPECT_THROW(g.set_state(garbage), Error);
  EXPECT_EQ(g.get_state(), before);
}

TEST(GeneratorState, CopiesShareAndClonesDoNot) {
  const Generator g = make_generator(3), same = g;
  const Generator copy = g.clone();
  EXPECT_TRUE(same == g);
  EXPECT_FALSE(copy == g);
  const Tensor a = cresset::rand({4}, g);
  EXPECT_EQ(digest(same), digest(g));
  EXPECT_NE(digest(copy), digest(g));
  EXPECT_TRUE(cresset::rand({4}, copy).equal(a));
}

TEST(GeneratorState, SeedsStartTheSequenceAnew) {
  Generator g = make_generator();
  EXPECT_EQ(g.current_seed(), 67280421310721u);
  g.set_current_seed(5);
  const Tensor a = cresset::rand({4}, g);
  g.set_current_seed(5);
  EXPECT_TRUE(cresset::rand({4}, g).equal(a));
  const uint64_t drawn = g.seed();
  EXPECT_EQ(drawn, g.current_seed());
  manual_seed(5);
  EXPECT_TRUE(cresset::rand({4}).equal(a));
  EXPECT_EQ(default_generator().current_seed(), 5u);
  EXPECT_FALSE(Generator().defined());
}

TEST(GeneratorState, ManyThreadsDrawFromOneWithoutRepeats) {
  const Generator g = make_generator(11);
  std::vector<std::vector<float>> drawn(4);
  std::vector<std::thread> threads;
  for (auto& list : drawn)
    threads.emplace_back([&list, &g] {
      for (int i = 0; i < 50; i++) {
        const Tensor x = cresset::rand({8}, g);
        list.insert(list.end(), x.data_ptr<float>(), x.data_ptr<float>() + 8);
      }
    });
  for (std::thread& t : threads) t.join();
  std::vector<float> all, expected;
  for (const auto& list : drawn) all.insert(all.end(), list.begin(), list.end());
  const Generator again = make_generator(11);
  for (int i = 0; i < 200; i++) {
    const Tensor x = cresset::rand({8}, again);
    expected.insert(expected.end(), x.data_ptr<float>(), x.data_ptr<float>() + 8);
  }
  std::sort(all.begin(), all.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(all, expected);
}

}  // namespace
}  // namespace cresset
