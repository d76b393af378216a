// Every rank is a thread with its own group; the references are computed from what all ranks hold.
#include "cresset/dist/process_group.h"

#include <gtest/gtest.h>

#include <thread>

#include "cresset/cresset.h"
#include "error_of.h"

namespace cresset::distributed {
namespace {

using std::chrono::milliseconds;

// Runs `f(group)` on every rank; the errors' texts by rank.
std::vector<std::string> on_ranks(int size, const std::function<void(ProcessGroup&)>& f, milliseconds timeout = std::chrono::seconds(20)) {
  const auto store = make_hash_store();
  std::vector<std::string> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; rank++)
    threads.emplace_back([&, rank] {
      errors[static_cast<size_t>(rank)] = error_of([&] {
        ProcessGroup group(store, rank, size, timeout);
        f(group);
      });
    });
  for (std::thread& t : threads) t.join();
  return errors;
}
std::vector<std::string> no_errors(int size) { return std::vector<std::string>(static_cast<size_t>(size), "no error"); }
void all_ranks(int size, const std::function<void(ProcessGroup&)>& f) { EXPECT_EQ(on_ranks(size, f), no_errors(size)); }

// Values of a rank: different on each, and exactly summable.
Tensor values(int64_t rank, int64_t n, ScalarType dtype = kFloat) { return ((arange(n) * (rank + 1)) % 17 + rank).to(dtype); }

class Ranks : public ::testing::TestWithParam<int> {};

TEST_P(Ranks, AllReduce) {
  // One element, the small way, the border, several slices that do not divide evenly.
  for (const int64_t n : {int64_t{1}, int64_t{1000}, int64_t{8192}, int64_t{8193}, int64_t{700001}})
    all_ranks(GetParam(), [&](ProcessGroup& g) {
      Tensor t = values(g.rank(), n), expected = zeros({n});
      for (int64_t r = 0; r < g.size(); r++) expected.add_(values(r, n));
      g.all_reduce(t);
      EXPECT_TRUE(equal(t, expected)) << n;
    });
}

TEST_P(Ranks, EveryReduction) {
  const int size = GetParam();
  for (const int64_t n : {7, 20000}) {
    auto reduced = [&](ScalarType dtype, const std::function<Tensor(const Tensor&, const Tensor&)>& f) {
      Tensor all = values(0, n, dtype);
      for (int r = 1; r < size; r++) all = f(all, values(r, n, dtype));
      return all;
    };
    const std::vector<std::tuple<ReduceOp, ScalarType, Tensor>> cases = {
        {ReduceOp::Avg, kDouble, reduced(kDouble, [](auto& a, auto& b) { return a + b; }) / size},
        {ReduceOp::Product, kLong, reduced(kLong, [](auto& a, auto& b) { return a * b; })},
        {ReduceOp::Min, kHalf, reduced(kHalf, [](auto& a, auto& b) { return minimum(a, b); })},
        {ReduceOp::Max, kInt, reduced(kInt, [](auto& a, auto& b) { return maximum(a, b); })},
        {ReduceOp::Band, kByte, reduced(kByte, [](auto& a, auto& b) { return a & b; })},
        {ReduceOp::Bor, kShort, reduced(kShort, [](auto& a, auto& b) { return a | b; })},
        {ReduceOp::Bxor, kLong, reduced(kLong, [](auto& a, auto& b) { return a ^ b; })},
        {ReduceOp::Sum, kComplexFloat, reduced(kComplexFloat, [](auto& a, auto& b) { return a + b; })}};
    all_ranks(size, [&](ProcessGroup& g) {
      for (const auto& [op, dtype, expected] : cases) {
        Tensor t = values(g.rank(), n, dtype);
        g.all_reduce(t, op);
        EXPECT_TRUE(equal(t, expected)) << static_cast<int>(op) << " " << n;
        Tensor one = values(g.rank(), n, dtype);
        g.reduce(one, g.size() - 1, op);
        EXPECT_TRUE(g.rank() != g.size() - 1 || equal(one, expected)) << static_cast<int>(op);
      }
    });
  }
}

TEST_P(Ranks, TensorsWithGaps) {
  all_ranks(GetParam(), [](ProcessGroup& g) {
    Tensor whole = zeros({40, 60}), part = whole.slice(1, 0, 60, 2).t();
    part.fill_(g.rank() + 1);
    g.all_reduce(part);
    const int64_t n = g.size();
    EXPECT_EQ(part.max().item<int64_t>(), n * (n + 1) / 2);
    EXPECT_EQ(whole.sum().item<int64_t>(), n * (n + 1) / 2 * 40 * 30);
  });
}

TEST_P(Ranks, Broadcast) {
  all_ranks(GetParam(), [](ProcessGroup& g) {
    for (int64_t root = 0; root < g.size(); root++) {
      Tensor t = values(g.rank(), 50000);
      g.broadcast(t, root);
      EXPECT_TRUE(equal(t, values(root, 50000))) << root;
    }
  });
}

TEST_P(Ranks, GatherAndScatter) {
  all_ranks(GetParam(), [](ProcessGroup& g) {
    const int64_t n = g.size(), me = g.rank();
    std::vector<Tensor> all, none;
    for (int64_t r = 0; r < n; r++) all.push_back(empty({300}));
    g.all_gather(all, values(me, 300));
    for (int64_t r = 0; r < n; r++) EXPECT_TRUE(equal(all[static_cast<size_t>(r)], values(r, 300)));
    for (int64_t root = 0; root < n; root++) {
      for (Tensor& t : all) t.zero_();
      g.gather(me == root ? all : none, values(me, 300), root);
      for (int64_t r = 0; r < n && me == root; r++) EXPECT_TRUE(equal(all[static_cast<size_t>(r)], values(r, 300)));
      std::vector<Tensor> parts;
      for (int64_t r = 0; r < n && me == root; r++) parts.push_back(values(10 * root + r, 20));
      Tensor part = empty({20});
      g.scatter(part, parts, root);
      EXPECT_TRUE(equal(part, values(10 * root + me, 20)));
    }
  });
}

TEST_P(Ranks, ReduceScatter) {
  all_ranks(GetParam(), [](ProcessGroup& g) {
    const int64_t n = g.size();
    std::vector<Tensor> parts;
    for (int64_t r = 0; r < n; r++) parts.push_back(values(g.rank() + 3 * r, 400000));
    const Tensor before = parts[0].clone();
    Tensor mine = empty({400000}), expected = zeros({400000});
    for (int64_t r = 0; r < n; r++) expected.add_(values(r + 3 * g.rank(), 400000));
    g.reduce_scatter(mine, parts);
    EXPECT_TRUE(equal(mine, expected));
    EXPECT_TRUE(equal(parts[0], before));
  });
}

TEST_P(Ranks, AllToAllOfUnequalSizes) {
  all_ranks(GetParam(), [](ProcessGroup& g) {
    std::vector<Tensor> in, out;
    for (int64_t r = 0; r < g.size(); r++) {
      in.push_back(values(g.rank(), 1 + g.rank() + 2 * r));
      out.push_back(empty({1 + r + 2 * g.rank()}));
    }
    g.all_to_all(out, in);
    for (int64_t r = 0; r < g.size(); r++) EXPECT_TRUE(equal(out[static_cast<size_t>(r)], values(r, 1 + r + 2 * g.rank())));
  });
}

TEST_P(Ranks, AsynchronousOperationsKeepTheirOrder) {
  all_ranks(GetParam(), [](ProcessGroup& g) {
    std::vector<Tensor> tensors;
    std::vector<ProcessGroup::WorkPtr> works;
    for (int i = 0; i < 20; i++) {
      tensors.push_back(full({1000 * (i % 3) + 1}, g.rank() + i));
      works.push_back(g.all_reduce(tensors.back(), ReduceOp::Max, true));
    }
    g.barrier();
    for (int i = 0; i < 20; i++) {
      works[static_cast<size_t>(i)]->wait();
      EXPECT_TRUE(works[static_cast<size_t>(i)]->is_completed());
      EXPECT_EQ(tensors[static_cast<size_t>(i)].min().item<int64_t>(), g.size() - 1 + i);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(ProcessGroup, Ranks, ::testing::Values(1, 2, 3, 5));

TEST(ProcessGroup, MessagesAreMatchedByTag) {
  all_ranks(2, [](ProcessGroup& g) {
    const int64_t other = 1 - g.rank();
    // Both send far more than a connection holds before either asks.
    g.send(values(g.rank(), 3000000), other, 1);
    g.send(full({2}, 7.f), other, 2);
    Tensor small = empty({2}), big = empty({3000000});
    g.receive(small, other, 2)->wait();
    const auto work = g.receive(big, -1, 1);
    work->wait();
    EXPECT_EQ(work->source_rank(), other);
    EXPECT_TRUE(equal(small, full({2}, 7.f)));
    EXPECT_TRUE(equal(big, values(other, 3000000)));
  });
}

TEST(ProcessGroup, AMessageOfAnotherSizeIsAnError) {
  const auto errors = on_ranks(2, [](ProcessGroup& g) {
    if (g.rank() == 0) {
      g.send(ones({3}), 1);
      g.barrier();
      return;
    }
    Tensor t = full({4}, 5.f);
    const std::string error = error_of([&] { g.receive(t, 0)->wait(); });
    EXPECT_EQ(error, "recv: expected 16 bytes from rank 0 with tag 0, got 12");
    EXPECT_TRUE(equal(t, full({4}, 5.f)));
    g.barrier();
  });
  EXPECT_EQ(errors, no_errors(2));
}

TEST(ProcessGroup, RanksThatCallDifferentThingsAreTold) {
  const auto errors = on_ranks(2, [](ProcessGroup& g) {
    Tensor t = ones({g.rank() == 0 ? 4 : 5});
    g.all_reduce(t);
  });
  EXPECT_NE(errors[0].find("rank 0 is at all_reduce of float32 with 16 bytes (call 1), rank 1 at all_reduce of float32 with 20 bytes"), std::string::npos)
      << errors[0];
  const auto others = on_ranks(2, [](ProcessGroup& g) {
    Tensor t = ones({4});
    if (g.rank() == 0) g.all_reduce(t);
    else g.barrier();
  });
  EXPECT_NE(others[0].find("rank 1 at barrier"), std::string::npos) << others[0];
}

TEST(ProcessGroup, ALostPeerIsNamedAndTheGroupSaysSo) {
  const auto errors = on_ranks(2, [](ProcessGroup& g) {
    if (g.rank() == 1) return;
    Tensor t = ones({4});
    EXPECT_NE(error_of([&] { g.all_reduce(t); }).find("rank 1"), std::string::npos);
    EXPECT_TRUE(equal(t, ones({4})));
    EXPECT_NE(error_of([&] { g.barrier(); }).find("of no use since an operation failed"), std::string::npos);
  });
  EXPECT_EQ(errors, no_errors(2));
}

TEST(ProcessGroup, TimeIsUp) {
  const auto errors = on_ranks(
      2,
      [](ProcessGroup& g) {
        if (g.rank() == 1) return std::this_thread::sleep_for(milliseconds(700));
        Tensor t = ones({1});
        EXPECT_NE(error_of([&] { g.receive(t, 1)->wait(milliseconds(30)); }).find("in 30 ms"), std::string::npos);
        EXPECT_NE(error_of([&] { g.barrier(); }).find("barrier: the time is up while waiting for rank 1"), std::string::npos);
      },
      milliseconds(300));
  EXPECT_EQ(errors, no_errors(2));
}

TEST(ProcessGroup, WrongArgumentsLeaveTheGroupUsable) {
  all_ranks(2, [](ProcessGroup& g) {
    Tensor t = ones({2}), integers = ones({2}, kLong);
    EXPECT_NE(error_of([&] { g.broadcast(t, 2); }).find("expected a rank in [0, 2), got 2"), std::string::npos);
    EXPECT_NE(error_of([&] { g.all_gather({t}, t); }).find("expected 2 output tensors"), std::string::npos);
    EXPECT_NE(error_of([&] { g.all_gather({t, integers}, t); }).find("of dtype float"), std::string::npos);
    EXPECT_NE(error_of([&] { g.all_gather({t, ones({3})}, t); }).find("of 2 elements"), std::string::npos);
    EXPECT_NE(error_of([&] { g.all_reduce(t, ReduceOp::Bor); }).find("integer dtype"), std::string::npos);
    EXPECT_NE(error_of([&] { g.all_reduce(integers, ReduceOp::Avg); }).find("floating-point"), std::string::npos);
    EXPECT_NE(error_of([&] { g.all_reduce(t.to(kComplexFloat), ReduceOp::Max); }).find("no order"), std::string::npos);
    EXPECT_NE(error_of([&] { g.send(t, g.rank()); }).find("to itself"), std::string::npos);
    EXPECT_NE(error_of([&] { g.all_reduce(Tensor()); }).find("undefined"), std::string::npos);
    EXPECT_NE(error_of([&] { g.all_reduce(ones({2}, device(kMeta))); }).find("on the CPU"), std::string::npos);
    g.all_reduce(t);
    EXPECT_TRUE(equal(t, full({2}, 2.f)));
  });
  EXPECT_NE(error_of([] { ProcessGroup(make_hash_store(), 3, 2); }).find("expected a rank in [0, 2), got 3"), std::string::npos);
  EXPECT_NE(error_of([] { ProcessGroup(nullptr, 0, 1); }).find("expected a store"), std::string::npos);
}

}  // namespace
}  // namespace cresset::distributed
