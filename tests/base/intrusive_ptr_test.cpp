// References that may be taken and dropped on several threads at once.
#include "cresset/base/intrusive_ptr.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <sstream>
#include <thread>
#include <unordered_set>

#include "cresset/base/error.h"

namespace cresset {
namespace {

struct Counted : RefCounted {
  explicit Counted(std::atomic<int>& n) : alive(n) { alive++; }
  ~Counted() override { alive--; }
  void release_resources() override { released = true; }
  std::atomic<int>& alive;
  std::atomic<bool> released{false};
};

TEST(IntrusivePtrThreads, AWeakReferenceMadeStrongKeepsTheObject) {
  std::atomic<int> alive{0};
  for (int round = 0; round < 2000; round++) {
    auto object = make_intrusive<Counted>(alive);
    weak_intrusive_ptr<Counted> weak(object);
    std::atomic<bool> go{false};
    std::thread other([&] {
      while (!go.load()) {}
      const auto held = weak.lock();
      EXPECT_FALSE(held && held->released.load()) << round;
    });
    go = true;
    object.reset();
    other.join();
    EXPECT_TRUE(weak.expired());
    weak = {};
    ASSERT_EQ(alive.load(), 0) << round;
  }
}

struct Number : RefCounted {
  explicit Number(int v = 0) : value(v) {}
  int value;
};
struct Derived : Number {
  using Number::Number;
};
struct NoFirst {
  static Number none;
  static constexpr Number* singleton() { return &none; }
};
Number NoFirst::none;
struct NoSecond {
  static Number none;
  static constexpr Number* singleton() { return &none; }
};
Number NoSecond::none;

TEST(IntrusivePtr, CountsItsReferences) {
  auto a = make_intrusive<Number>(5);
  EXPECT_TRUE(a.unique());
  const auto b = a;
  EXPECT_EQ(a.use_count(), 2u);
  EXPECT_EQ(a.weak_use_count(), 1u);
  a = std::move(a);
  EXPECT_EQ(a->value, 5);
  a.reset();
  EXPECT_FALSE(a.defined());
  EXPECT_TRUE(b.unique());
}

TEST(IntrusivePtr, ConvertsToBasesAndBetweenNulls) {
  intrusive_ptr<Number> base = make_intrusive<Derived>(3);
  EXPECT_EQ(base->value, 3);
  base = make_intrusive<Derived>(4);
  EXPECT_EQ(base->value, 4);
  const intrusive_ptr<Number, NoFirst> first;
  const intrusive_ptr<Number, NoSecond> second = first;
  EXPECT_EQ(second.get(), &NoSecond::none);
  EXPECT_FALSE(second.defined());
}

TEST(IntrusivePtr, ReleasesReclaimsAndTakesOver) {
  auto a = make_intrusive<Number>(1);
  Number* raw = a.release();
  EXPECT_FALSE(a.defined());
  a = intrusive_ptr<Number>::reclaim(raw);
  const auto copy = intrusive_ptr<Number>::reclaim_copy(raw);
  EXPECT_EQ(a.use_count(), 2u);
  const intrusive_ptr<Number> from_unique(std::make_unique<Number>(7));
  EXPECT_EQ(from_unique->value, 7);
  auto b = make_intrusive<Number>(2);
  swap(a, b);
  EXPECT_EQ(a->value, 2);
}

TEST(IntrusivePtr, IsAKeyAndPrintsItsAddress) {
  const auto a = make_intrusive<Number>(1), b = make_intrusive<Number>(2);
  const std::map<intrusive_ptr<Number>, int> ordered{{a, 1}, {b, 2}};
  const std::unordered_set<intrusive_ptr<Number>> hashed{a, a, b};
  EXPECT_EQ(ordered.at(b), 2);
  EXPECT_EQ(hashed.size(), 2u);
  EXPECT_NE(a, b);
  EXPECT_EQ(intrusive_ptr<Number>(), nullptr);
  std::ostringstream text, address;
  text << a;
  address << a.get();
  EXPECT_EQ(text.str(), address.str());
}

// The compiler follows the pointer to a deletion that never comes.
#pragma GCC diagnostic push
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wfree-nonheap-object"
#endif
TEST(IntrusivePtr, ObjectsOnTheStackAreNotDeleted) {
  Number on_stack;
  { const auto p = intrusive_ptr<Number>::share(&on_stack); }
  EXPECT_FALSE(on_stack.is_claimed());
#ifdef NDEBUG
  const auto p = intrusive_ptr<Number>::reclaim(&on_stack);
#else
  EXPECT_THROW(intrusive_ptr<Number>::reclaim(&on_stack), Error);
#endif
}

#pragma GCC diagnostic pop

TEST(WeakIntrusivePtr, SeesTheObjectEnd) {
  std::atomic<int> alive{0};
  weak_intrusive_ptr<Counted> weak(make_intrusive<Counted>(alive));
  EXPECT_TRUE(weak.expired());
  EXPECT_EQ(weak.weak_use_count(), 1u);
  EXPECT_FALSE(weak.lock().defined());
  EXPECT_EQ(alive.load(), 1);
  weak.reset();
  EXPECT_EQ(alive.load(), 0);
}

TEST(WeakIntrusivePtr, ConvertsReleasesAndIsAKey) {
  const auto strong = make_intrusive<Derived>(4);
  weak_intrusive_ptr<Number> weak = weak_intrusive_ptr<Derived>(strong);
  EXPECT_EQ(weak.use_count(), 1u);
  EXPECT_EQ(weak.weak_use_count(), 2u);
  EXPECT_EQ(weak.lock()->value, 4);
  weak = weak_intrusive_ptr<Number>::reclaim(weak.release());
  const std::map<weak_intrusive_ptr<Number>, int> keys{{weak, 1}};
  EXPECT_EQ(keys.count(weak), 1u);
  weak_intrusive_ptr<Number> other;
  swap(weak, other);
  EXPECT_FALSE(weak.defined());
}

}  // namespace
}  // namespace cresset
