// The building blocks of loaders: queues between threads, and the order of results.

#include "cresset/data/shuttle.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "error_of.h"

namespace {

using namespace cresset;
using namespace cresset::data::detail;

const std::chrono::milliseconds kMillisecond(1);

TEST(Queue, FirstInFirstOut) {
  Queue<int> queue;
  queue.push(1);
  queue.push(2);
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), 2);
}

TEST(Queue, PopWaitsForAnotherThread) {
  Queue<int> queue;
  std::thread thread([&] { queue.push(3); });
  EXPECT_EQ(queue.pop(), 3);
  thread.join();
}

TEST(Queue, PopGivesUpAfterTheTimeout) {
  Queue<int> queue;
  EXPECT_NE(error_of([&] { queue.pop(2 * kMillisecond); }).find("2 ms"), std::string::npos);
  queue.push(1);
  queue.push(2);
  EXPECT_EQ(queue.clear(), 2u);
  EXPECT_NE(error_of([&] { queue.pop(1 * kMillisecond); }).find("Timeout"), std::string::npos);
}

TEST(DataShuttle, ResultsOnlyOfJobsInFlight) {
  DataShuttle<int, int> shuttle;
  EXPECT_FALSE(shuttle.pop_result().has_value());
  shuttle.push_job(1);
  EXPECT_EQ(shuttle.in_flight_jobs(), 1u);
  EXPECT_EQ(shuttle.pop_job(), 1);
  shuttle.push_result(2);
  EXPECT_EQ(shuttle.pop_result(), 2);
  EXPECT_FALSE(shuttle.pop_result().has_value());
}

TEST(DataShuttle, DrainDropsJobsAndWaitsForResults) {
  DataShuttle<int, int> shuttle;
  shuttle.push_job(1);
  shuttle.push_job(2);
  shuttle.pop_job();
  shuttle.push_result(1);
  shuttle.drain();
  EXPECT_EQ(shuttle.in_flight_jobs(), 0u);
  EXPECT_FALSE(shuttle.pop_result().has_value());
}

struct Numbered {
  size_t sequence_number;
};

TEST(Sequencer, OrdersByNumber) {
  const std::vector<size_t> arriving = {0, 2, 4, 3, 1};
  size_t at = 0;
  sequencers::OrderedSequencer<Numbered> sequencer(5);
  const auto next = [&] { return Numbered{arriving.at(at++)}; };
  for (size_t i = 0; i < 5; i++) EXPECT_EQ(sequencer.next(next).value().sequence_number, i);
  EXPECT_EQ(at, 5u);
  EXPECT_FALSE(sequencer.next([] { return std::optional<Numbered>(); }).has_value());
}

TEST(Sequencer, NoneKeepsTheOrder) {
  sequencers::NoSequencer<int> sequencer;
  EXPECT_EQ(sequencer.next([] { return 5; }).value(), 5);
}

}  // namespace
