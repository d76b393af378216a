// Every rank is a thread with its own group; the references are computed from what all ranks hold.
#include "cresset/dist/group/process_group.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "cresset/cresset.h"
#include "cresset/dist/transport/providers.h"
#include "error_of.h"

namespace cresset::distributed {
namespace {

using std::chrono::milliseconds;

// A rank's group, whose operations take single tensors and wait.
class Rank {
 public:
  Rank(const intrusive_ptr<Store>& store, int rank, int size, milliseconds timeout, const std::string& engine)
      : group_(make_intrusive<ProcessGroupGloo>(store, rank, size, options(timeout, engine))) {}
  int64_t rank() const { return group_->getRank(); }
  int64_t size() const { return group_->getSize(); }

  WorkPtr all_reduce(const Tensor& t, ReduceOp op = ReduceOp::SUM, bool async = false) {
    Tensors list = {t};
    AllreduceOptions o;
    o.reduceOp = op;
    return begun(o, async, [&](auto& o) { return group_->allreduce(list, o); });
  }
  void reduce(const Tensor& t, int64_t root, ReduceOp op = ReduceOp::SUM) {
    Tensors list = {t};
    ReduceOptions o;
    o.reduceOp = op;
    o.rootRank = root;
    begun(o, false, [&](auto& o) { return group_->reduce(list, o); });
  }
  void broadcast(const Tensor& t, int64_t root) {
    Tensors list = {t};
    BroadcastOptions o;
    o.rootRank = root;
    begun(o, false, [&](auto& o) { return group_->broadcast(list, o); });
  }
  void all_gather(const Tensors& outputs, const Tensor& input) {
    TensorLists out = {outputs};
    Tensors in = {input};
    begun(AllgatherOptions(), false, [&](auto& o) { return group_->allgather(out, in, o); });
  }
  void gather(const Tensors& outputs, const Tensor& input, int64_t root) {
    TensorLists out;
    if (!outputs.empty()) out.push_back(outputs);
    Tensors in = {input};
    GatherOptions o;
    o.rootRank = root;
    begun(o, false, [&](auto& o) { return group_->gather(out, in, o); });
  }
  void scatter(const Tensor& output, const Tensors& inputs, int64_t root) {
    Tensors out = {output};
    TensorLists in;
    if (!inputs.empty()) in.push_back(inputs);
    ScatterOptions o;
    o.rootRank = root;
    begun(o, false, [&](auto& o) { return group_->scatter(out, in, o); });
  }
  void reduce_scatter(const Tensor& output, const Tensors& inputs) {
    Tensors out = {output};
    TensorLists in = {inputs};
    begun(ReduceScatterOptions(), false, [&](auto& o) { return group_->reduce_scatter(out, in, o); });
  }
  void all_to_all(Tensors outputs, Tensors inputs) {
    begun(AllToAllOptions(), false, [&](auto& o) { return group_->alltoall(outputs, inputs, o); });
  }
  Tensor shared_row(int64_t elements, ScalarType dtype = kFloat) { return group_->shared_row(elements, dtype); }
  WorkPtr all_reduce_row(const Tensor& row, ReduceOp op = ReduceOp::SUM, bool async = false) {
    AllreduceOptions o;
    o.reduceOp = op;
    return begun(o, async, [&](auto& o) { return group_->allreduce_row(row, o); });
  }
  void barrier() {
    begun(BarrierOptions(), false, [&](auto& o) { return group_->barrier(o); });
  }
  WorkPtr send(const Tensor& t, int64_t to, int tag = 0) {
    Tensors list = {t};
    return group_->send(list, static_cast<int>(to), tag);
  }
  WorkPtr receive(const Tensor& t, int64_t from, int tag = 0) {
    Tensors list = {t};
    return from < 0 ? group_->recvAnysource(list, tag) : group_->recv(list, static_cast<int>(from), tag);
  }

 private:
  static EngineGroupOptions options(milliseconds timeout, const std::string& engine) {
    EngineGroupOptions o;
    o.timeout = timeout;
    o.engine = engine;
    return o;
  }
  template <class O, class F> WorkPtr begun(O o, bool async, F&& f) {
    o.asyncOp = async;
    return f(o);
  }
  const intrusive_ptr<ProcessGroupGloo> group_;
};

// Runs `f(rank)` on every rank; the errors' texts by rank.
std::vector<std::string> on_ranks(int size, const std::function<void(Rank&)>& f, milliseconds timeout = std::chrono::seconds(20),
                                  const std::string& engine = "shm") {
  const intrusive_ptr<Store> store = make_intrusive<HashStore>(timeout);
  std::vector<std::string> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; rank++)
    threads.emplace_back([&, rank] {
      errors[static_cast<size_t>(rank)] = error_of([&] {
        Rank group(store, rank, size, timeout, engine);
        f(group);
      });
    });
  for (std::thread& t : threads) t.join();
  return errors;
}
std::vector<std::string> no_errors(int size) { return std::vector<std::string>(static_cast<size_t>(size), "no error"); }
void all_ranks(int size, const std::function<void(Rank&)>& f, const std::string& engine = "shm") {
  EXPECT_EQ(on_ranks(size, f, std::chrono::seconds(20), engine), no_errors(size));
}

// Values of a rank: different on each, and exactly summable.
Tensor values(int64_t rank, int64_t n, ScalarType dtype = kFloat) { return ((arange(n) * (rank + 1)) % 17 + rank).to(dtype); }

// The number of ranks, and the engine.
class Ranks : public ::testing::TestWithParam<std::tuple<int, const char*>> {
 protected:
  void SetUp() override {
    if (!engine_available(std::get<1>(GetParam()))) GTEST_SKIP() << "the engine " << std::get<1>(GetParam()) << " is not built";
  }
  static int ranks() { return std::get<0>(GetParam()); }
  static void on_all(const std::function<void(Rank&)>& f) { all_ranks(ranks(), f, std::get<1>(GetParam())); }
};

TEST_P(Ranks, AllReduce) {
  // One element, the small way, the border, several slices that do not divide evenly.
  for (const int64_t n : {int64_t{1}, int64_t{1000}, int64_t{8192}, int64_t{8193}, int64_t{700001}})
    on_all([&](Rank& g) {
      Tensor t = values(g.rank(), n), expected = zeros({n});
      for (int64_t r = 0; r < g.size(); r++) expected.add_(values(r, n));
      g.all_reduce(t);
      EXPECT_TRUE(equal(t, expected)) << n;
    });
}

TEST_P(Ranks, RowsInSharedMemoryAreReducedInPlace) {
  // Parts that are smaller than the row's pieces, larger, and that do not divide evenly.
  for (const int64_t n : {int64_t{5000}, int64_t{200003}})
    on_all([&](Rank& g) {
      std::vector<Tensor> rows = {g.shared_row(n), g.shared_row(n, kDouble)};
      const bool shared = std::get<1>(GetParam()) == std::string("shm") && g.size() > 1;
      for (const Tensor& row : rows) {
        ASSERT_EQ(row.defined(), shared);
        if (!shared) continue;
        EXPECT_TRUE(equal(row, zeros({n}, row.options())));
        for (int turn = 0; turn < 3; turn++) {
          Tensor expected = zeros({n}, row.options());
          for (int64_t r = 0; r < g.size(); r++) expected.add_(values(r + turn, n, row.scalar_type()));
          row.copy_(values(g.rank() + turn, n, row.scalar_type()));
          g.all_reduce_row(row, ReduceOp::SUM, turn == 1)->wait();
          EXPECT_TRUE(equal(row, expected)) << n << " in turn " << turn;
        }
        row.fill_(g.rank());
        g.all_reduce_row(row, ReduceOp::AVG);
        EXPECT_TRUE(equal(row, full({n}, 0.5 * static_cast<double>(g.size() - 1), row.options())));
        g.all_reduce(row, ReduceOp::MAX);
        EXPECT_TRUE(equal(row, full({n}, 0.5 * static_cast<double>(g.size() - 1), row.options())));
      }
      if (shared) {
        const Tensor kept = rows[0];  // the memory lives as long as a tensor does
        rows.clear();
        EXPECT_NE(g.shared_row(n).data_ptr(), kept.data_ptr());
        kept.fill_(1);
        g.all_reduce_row(kept);
        EXPECT_EQ(kept[n - 1].item<float>(), static_cast<float>(g.size()));
      }
    });
}

TEST(SharedRows, AreOfTheGroupAndOfOneCall) {
  for (const std::string& error : on_ranks(2, [](Rank& g) {
         const Tensor a = g.shared_row(10000), b = g.shared_row(10000);
         g.all_reduce_row(g.rank() == 0 ? a : b);
       }))
    EXPECT_NE(error.find("the ranks do not call the same"), std::string::npos) << error;
  for (const std::string& error : on_ranks(2, [](Rank& g) { g.all_reduce_row(ones({10000})); }))
    EXPECT_NE(error.find("expected one that this group has given"), std::string::npos) << error;
  all_ranks(2, [](Rank& g) { EXPECT_FALSE(g.shared_row(10).defined()); });  // a copy is faster than a second wait
}

TEST_P(Ranks, SumsAreAddedInTheOrderOfTheRanks) {
  // Sums of these round differently in another order; the sizes are of one round, and of several blocks.
  auto of = [](int64_t rank, int64_t n) { return (arange(n) * static_cast<double>(rank + 1)).sin().to(kFloat) * static_cast<double>(1 + 1000 * (rank % 2)); };
  for (const int64_t n : {int64_t{1000}, int64_t{1700001}}) {
    Tensor expected = of(0, n);
    for (int64_t r = 1; r < ranks(); r++) expected = expected + of(r, n);
    on_all([&](Rank& g) {
      Tensor t = of(g.rank(), n);
      g.all_reduce(t);
      EXPECT_TRUE(equal(t, expected)) << n;
    });
  }
}

TEST_P(Ranks, EveryReduction) {
  const int size = ranks();
  for (const int64_t n : {7, 20000}) {
    auto reduced = [&](ScalarType dtype, const std::function<Tensor(const Tensor&, const Tensor&)>& f) {
      Tensor all = values(0, n, dtype);
      for (int r = 1; r < size; r++) all = f(all, values(r, n, dtype));
      return all;
    };
    const std::vector<std::tuple<ReduceOp, ScalarType, Tensor>> cases = {
        {ReduceOp::AVG, kDouble, reduced(kDouble, [](auto& a, auto& b) { return a + b; }) / size},
        {ReduceOp::PRODUCT, kLong, reduced(kLong, [](auto& a, auto& b) { return a * b; })},
        {ReduceOp::MIN, kHalf, reduced(kHalf, [](auto& a, auto& b) { return minimum(a, b); })},
        {ReduceOp::MAX, kInt, reduced(kInt, [](auto& a, auto& b) { return maximum(a, b); })},
        {ReduceOp::BAND, kByte, reduced(kByte, [](auto& a, auto& b) { return a & b; })},
        {ReduceOp::BOR, kShort, reduced(kShort, [](auto& a, auto& b) { return a | b; })},
        {ReduceOp::BXOR, kLong, reduced(kLong, [](auto& a, auto& b) { return a ^ b; })},
        {ReduceOp::SUM, kComplexFloat, reduced(kComplexFloat, [](auto& a, auto& b) { return a + b; })}};
    on_all([&](Rank& g) {
      for (const auto& [op, dtype, expected] : cases) {
        Tensor t = values(g.rank(), n, dtype);
        g.all_reduce(t, op);
        EXPECT_TRUE(equal(t, expected)) << static_cast<int>(op.op_) << " " << n;
        Tensor one = values(g.rank(), n, dtype);
        g.reduce(one, g.size() - 1, op);
        EXPECT_TRUE(g.rank() != g.size() - 1 || equal(one, expected)) << static_cast<int>(op.op_);
      }
    });
  }
}

TEST_P(Ranks, TensorsWithGaps) {
  on_all([](Rank& g) {
    Tensor whole = zeros({40, 60}), part = whole.slice(1, 0, 60, 2).t();
    part.fill_(g.rank() + 1);
    g.all_reduce(part);
    const int64_t n = g.size();
    EXPECT_EQ(part.max().item<int64_t>(), n * (n + 1) / 2);
    EXPECT_EQ(whole.sum().item<int64_t>(), n * (n + 1) / 2 * 40 * 30);
  });
}

TEST_P(Ranks, Broadcast) {
  on_all([](Rank& g) {
    for (int64_t root = 0; root < g.size(); root++) {
      Tensor t = values(g.rank(), 50000);
      g.broadcast(t, root);
      EXPECT_TRUE(equal(t, values(root, 50000))) << root;
    }
  });
}

TEST_P(Ranks, GatherAndScatter) {
  on_all([](Rank& g) {
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
  on_all([](Rank& g) {
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
  on_all([](Rank& g) {
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
  on_all([](Rank& g) {
    std::vector<Tensor> tensors;
    std::vector<WorkPtr> works;
    for (int i = 0; i < 20; i++) {
      tensors.push_back(full({1000 * (i % 3) + 1}, g.rank() + i));
      works.push_back(g.all_reduce(tensors.back(), ReduceOp::MAX, true));
    }
    g.barrier();
    for (int i = 0; i < 20; i++) {
      works[static_cast<size_t>(i)]->wait();
      EXPECT_TRUE(works[static_cast<size_t>(i)]->isCompleted());
      EXPECT_EQ(tensors[static_cast<size_t>(i)].min().item<int64_t>(), g.size() - 1 + i);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(ProcessGroup, Ranks, ::testing::Combine(::testing::Values(1, 2, 3, 5), ::testing::Values("shm", "gloo")));

TEST(ProcessGroup, MessagesAreMatchedByTag) {
  all_ranks(2, [](Rank& g) {
    const int64_t other = 1 - g.rank();
    // Both send far more than a connection holds before either asks.
    const WorkPtr first = g.send(values(g.rank(), 3000000), other, 1), second = g.send(full({2}, 7.f), other, 2);
    Tensor small = empty({2}), big = empty({3000000});
    g.receive(small, other, 2)->wait();
    const auto work = g.receive(big, -1, 1);
    work->wait();
    EXPECT_EQ(work->sourceRank(), other);
    EXPECT_TRUE(equal(small, full({2}, 7.f)));
    EXPECT_TRUE(equal(big, values(other, 3000000)));
    first->wait();
    second->wait();
  });
}

// The message for which the test waits has come in part, or as a whole, or not at all, when the receive begins.
TEST(ProcessGroup, AReceiveMayBeginWhileItsMessageComes) {
  all_ranks(2, [](Rank& g) {
    const int64_t n = 2000000;
    for (int i = 0; i < 40; i++) {
      if (g.rank() == 0) {
        g.send(values(i, n), 1, 1)->wait();
        g.send(ones({1}), 1, 2)->wait();
        continue;
      }
      Tensor big = empty({n}), small = empty({1});
      const WorkPtr last = g.receive(small, 0, 2);  // its thread takes in all that comes
      std::this_thread::sleep_for(std::chrono::microseconds(100 * i));
      g.receive(big, 0, 1)->wait();
      last->wait();
      EXPECT_TRUE(equal(big, values(i, n)));
    }
  });
}

TEST(ProcessGroup, AMessageOfAnotherSizeIsAnError) {
  const auto errors = on_ranks(2, [](Rank& g) {
    if (g.rank() == 0) {
      g.send(ones({3}), 1);
      g.barrier();
      return;
    }
    Tensor t = full({4}, 5.f);
    const std::string error = error_of([&] { g.receive(t, 0)->wait(); });
    EXPECT_EQ(error, "dist: recv: expected 16 bytes from rank 0 with tag 0, got 12");
    EXPECT_TRUE(equal(t, full({4}, 5.f)));
    g.barrier();
  });
  EXPECT_EQ(errors, no_errors(2));
}

TEST(ProcessGroup, RanksThatCallDifferentThingsAreTold) {
  const auto errors = on_ranks(2, [](Rank& g) {
    Tensor t = ones({g.rank() == 0 ? 4 : 5});
    g.all_reduce(t);
  });
  EXPECT_NE(errors[0].find("rank 0 is at all_reduce of float32 with 16 bytes (call 1), rank 1 at all_reduce of float32 with 20 bytes"), std::string::npos)
      << errors[0];
  const auto others = on_ranks(2, [](Rank& g) {
    Tensor t = ones({4});
    if (g.rank() == 0) g.all_reduce(t);
    else g.barrier();
  });
  EXPECT_NE(others[0].find("rank 1 at barrier"), std::string::npos) << others[0];
}

TEST(ProcessGroup, ALostPeerIsNamedAndTheGroupSaysSo) {
  const auto errors = on_ranks(2, [](Rank& g) {
    if (g.rank() == 1) return;
    Tensor t = ones({4});
    EXPECT_NE(error_of([&] { g.all_reduce(t); }).find("rank 1"), std::string::npos);
    EXPECT_TRUE(equal(t, ones({4})));
    EXPECT_NE(error_of([&] { g.barrier(); }).find("of no use since an operation failed"), std::string::npos);
  });
  EXPECT_EQ(errors, no_errors(2));
}

TEST(ProcessGroup, TimeIsUp) {
  std::promise<void> ended;
  const auto errors = on_ranks(
      2,
      [&](Rank& g) {
        if (g.rank() == 1) {
          ended.get_future().wait_for(std::chrono::seconds(20));
          return;
        }
        Tensor t = ones({1});
        EXPECT_NE(error_of([&] { g.receive(t, 1)->wait(milliseconds(30)); }).find("recv from rank 1 with tag 0: the time is up"), std::string::npos);
        EXPECT_NE(error_of([&] { g.barrier(); }).find("barrier: the time is up while waiting for rank 1"), std::string::npos);
        ended.set_value();
      },
      milliseconds(300));
  EXPECT_EQ(errors, no_errors(2));
}

TEST(ProcessGroup, WrongArgumentsLeaveTheGroupUsable) {
  all_ranks(2, [](Rank& g) {
    Tensor t = ones({2}), integers = ones({2}, kLong);
    EXPECT_NE(error_of([&] { g.broadcast(t, 2); }).find("expected a rank in [0, 2), got 2"), std::string::npos);
    EXPECT_NE(error_of([&] { g.all_gather({t}, t); }).find("expected 2 output tensors"), std::string::npos);
    EXPECT_NE(error_of([&] { g.all_gather({t, integers}, t); }).find("of dtype float"), std::string::npos);
    EXPECT_NE(error_of([&] { g.all_reduce(t, ReduceOp::BOR); }).find("integer dtype"), std::string::npos);
    EXPECT_NE(error_of([&] { g.all_reduce(t.to(kComplexFloat), ReduceOp::MAX); }).find("dtype with an order"), std::string::npos);
    EXPECT_NE(error_of([&] { g.send(t, g.rank()); }).find("to itself"), std::string::npos);
    EXPECT_NE(error_of([&] { g.all_reduce(Tensor()); }).find("expected a list of one tensor"), std::string::npos);
    EXPECT_NE(error_of([&] { g.all_reduce(ones({2}, device(kMeta))); }).find("on the CPU"), std::string::npos);
    g.all_reduce(t);
    EXPECT_TRUE(equal(t, full({2}, 2.f)));
  });
  EXPECT_NE(error_of([] { ProcessGroupGloo group(make_intrusive<HashStore>(), 3, 2); }).find("expected a rank in [0, 2), got 3"), std::string::npos);
  EXPECT_NE(error_of([] { ProcessGroupGloo group(nullptr, 0, 1); }).find("expected a store"), std::string::npos);
}

}  // namespace
}  // namespace cresset::distributed
