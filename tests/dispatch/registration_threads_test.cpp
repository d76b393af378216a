// Registering, looking up, calling and unregistering from many threads at once.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "cresset/dispatch/registration.h"
#include "cresset/ops/functions.h"

namespace cresset::dispatch {
namespace {

Tensor plus_one(const Tensor& x) { return x + 1; }

template <class F> void on_threads(int n, F&& f) {
  std::vector<std::thread> threads;
  for (int t = 0; t < n; t++) threads.emplace_back([&f, t] { f(t); });
  for (std::thread& t : threads) t.join();
}

TEST(RegistrationThreads, OpsComeAndGoWhileOthersCallAndList) {
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) {
      all_ops();
      find_op_or_null("threads0::op3");
      print_table("add.Tensor");
      cresset::ones({2}).sum().item<float>();
    }
  });
  std::atomic<int> wrong{0};
  on_threads(4, [&](int t) {
    const std::string ns = "threads" + std::to_string(t);
    for (int round = 0; round < 20; round++) {
      Library library(Library::definitions, ns, "", "here.cpp", t);
      for (int i = 0; i < 5; i++) library.def("op" + std::to_string(i) + "(Tensor x) -> Tensor", &plus_one);
      const auto op = find_op(ns + "::op3").typed<Tensor(const Tensor&)>();
      wrong += op.call(cresset::zeros({1})).item<float>() != 1.f;
    }
    wrong += static_cast<bool>(find_op_or_null(ns + "::op3"));
  });
  stop = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
}

TEST(RegistrationThreads, ManyKernelsForAPlaceComeAndGoAndThoseThatStayRun) {
  Library library(Library::definitions, "race", "", "here.cpp", 1);
  library.def("op(Tensor x) -> Tensor");
  testing::internal::CaptureStderr();
  Library first(Library::implementations, "race", "CPU", "here.cpp", 0);
  first.impl("op", &plus_one);
  std::atomic<int> wrong{0};
  on_threads(6, [&](int t) {
    const auto op = find_op("race::op").typed<Tensor(const Tensor&)>();
    for (int i = 0; i < 20; i++) {
      Library mine(Library::implementations, "race", "CPU", "here.cpp", t);
      mine.impl("op", &plus_one);
      wrong += op.call(cresset::zeros({1})).item<float>() != 1.f;
    }
  });
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(find_op("race::op").typed<Tensor(const Tensor&)>().call(cresset::zeros({1})).item<float>(), 1.f);
}

TEST(RegistrationThreads, ABuiltInKernelOrWhatStandsForItRuns) {
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  testing::internal::CaptureStderr();
  std::thread caller([&] {
    const Tensor x = cresset::full({}, -2.0);
    while (!stop) {
      Stack stack{x};
      find_op("aten::relu").call_boxed(stack);
      const double boxed = stack[0].to_tensor().item<double>(), typed = cresset::relu(x).item<double>();
      wrong += (boxed != 0 && boxed != 5) || (typed != 0 && typed != 5);
    }
  });
  for (int i = 0; i < 300; i++) {
    Library mine(Library::implementations, "aten", "CPU", "here.cpp", i);
    mine.impl("relu", BoxedFn([](const OpEntry&, Stack& stack) { stack.back() = cresset::full({}, 5.0); }));
  }
  stop = true;
  caller.join();
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(wrong, 0);
}

TEST(RegistrationThreads, ListsAreReadFromManyThreads) {
  const Value list(std::vector<int64_t>{1, 2, 3});
  std::atomic<int> wrong{0};
  on_threads(4, [&](int) {
    for (int i = 0; i < 1000; i++) {
      const ArrayRef<Value> values = list.toListRef();
      wrong += values.size() != 3 || values[2].to_int() != 3;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(RegistrationThreads, OneOfManyDefinitionsWins) {
  std::atomic<int> won{0}, lost{0};
  on_threads(6, [&](int t) {
    try {
      Library mine(Library::definitions, "define_race", "", "here.cpp", t);
      won++;
      while (won + lost < 6) std::this_thread::yield();
    } catch (const Error&) { lost++; }
  });
  EXPECT_EQ(won, 1);
  EXPECT_EQ(lost, 5);
}

TEST(RegistrationThreads, BackendsRegisterOnceUnderOneNumber) {
  uint8_t numbers[6];
  on_threads(6, [&](int t) { numbers[t] = register_backend("raced", "raced"); });
  for (const uint8_t n : numbers) EXPECT_EQ(n, numbers[0]);
  EXPECT_EQ(find_backend("RACED"), numbers[0]);
  EXPECT_EQ(backend_name(numbers[0]), "raced");
}

// A schema is parsed when it is first asked for; threads may ask at once.
TEST(RegistrationThreads, SchemasAreParsedOnce) {
  std::vector<const FunctionSchema*> seen(6);
  on_threads(6, [&](int t) { seen[static_cast<size_t>(t)] = &find_op("addcmul").schema(); });
  for (const FunctionSchema* s : seen) EXPECT_EQ(s, seen[0]);
}

TEST(RegistrationThreads, AKernelMayBeReplacedWhileItRuns) {
  Library definitions(Library::definitions, "swap", "", "here.cpp", 1);
  definitions.def("op(Tensor x) -> Tensor");
  std::atomic<bool> stop{false};
  std::atomic<int> ran{0}, missing{0};
  std::thread caller([&] {
    const Tensor x = cresset::zeros({4});
    const auto op = find_op("swap::op").typed<Tensor(const Tensor&)>();
    while (!stop) {
      try {
        op.call(x);
        ran++;
      } catch (const NotImplementedError&) { missing++; }
    }
  });
  for (int round = 0; round < 200 || ran == 0; round++) {
    Library library(Library::implementations, "swap", "CPU", "here.cpp", 2);
    library.impl("op", &plus_one);
    std::this_thread::yield();
  }
  stop = true;
  caller.join();
  EXPECT_GT(ran, 0);
}

}  // namespace
}  // namespace cresset::dispatch
