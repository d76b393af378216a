#pragma once
// Queues between threads, and the order of what comes out of them: LibTorch's building blocks of a loader, for loaders of one's own.

#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "cresset/data/mutex.h"

namespace cresset::data::detail {

[[noreturn]] CRESSET_API void throw_queue_timeout(int64_t milliseconds);

// First in, first out; any number of threads at both ends.
template <class T> class Queue {
 public:
  void push(T value) {
    DataLock lock(mutex_);
    values_.push_back(std::move(value));
    mutex_.notify();
  }
  // Blocks until there is a value. Errors: there is none within the timeout.
  T pop(std::optional<Milliseconds> timeout = std::nullopt) {
    DataLock lock(mutex_);
    if (!mutex_.wait([this] { return !values_.empty(); }, timeout)) throw_queue_timeout(timeout->count);
    T value = std::move(values_.front());
    values_.pop_front();
    return value;
  }
  // How many values are gone.
  size_t clear() {
    DataLock lock(mutex_);
    const size_t size = values_.size();
    values_.clear();
    return size;
  }

 private:
  DataMutex mutex_;
  std::deque<T> values_;
};

// Jobs one way, results the other; counts the jobs whose results have not been fetched.
template <class Job, class Result> class DataShuttle {
 public:
  void push_job(Job job) {
    jobs_.push(std::move(job));
    in_flight_++;
  }
  void push_result(Result result) { results_.push(std::move(result)); }
  Job pop_job() { return jobs_.pop(); }
  // Nothing if no job is in flight. Errors: no result within the timeout.
  std::optional<Result> pop_result(std::optional<Milliseconds> timeout = std::nullopt) {
    if (in_flight_ == 0) return std::nullopt;
    Result result = results_.pop(timeout);
    in_flight_--;
    return result;
  }
  // Drops the jobs that no thread has taken yet, and waits for the results of the others.
  void drain() {
    in_flight_ -= jobs_.clear();
    while (in_flight_ > 0) pop_result();
  }
  size_t in_flight_jobs() const noexcept { return in_flight_; }

 private:
  Queue<Job> jobs_;
  size_t in_flight_ = 0;
  Queue<Result> results_;
};

namespace sequencers {

// In which order results are given out.
template <class Result> struct Sequencer {
  using ResultProducer = std::function<std::optional<Result>()>;
  virtual ~Sequencer() = default;
  virtual std::optional<Result> next(ResultProducer next_result) = 0;
};

// As they come.
template <class Result> struct NoSequencer final : Sequencer<Result> {
  using typename Sequencer<Result>::ResultProducer;
  std::optional<Result> next(ResultProducer next_result) override { return next_result(); }
};

// By their sequence_number, from 0 on; at most max_jobs results wait for an earlier one.
template <class Result> struct OrderedSequencer final : Sequencer<Result> {
  using typename Sequencer<Result>::ResultProducer;
  explicit OrderedSequencer(size_t max_jobs) : buffer_(max_jobs) {}

  std::optional<Result> next(ResultProducer next_result) override {
    std::optional<Result>& due = place(next_sequence_number_);
    while (!due) {
      std::optional<Result> result = next_result();
      if (!result) return std::nullopt;
      if (result->sequence_number == next_sequence_number_) {
        next_sequence_number_++;
        return result;
      }
      place(result->sequence_number) = std::move(result);
    }
    next_sequence_number_++;
    return std::exchange(due, std::nullopt);
  }

  size_t next_sequence_number_ = 0;
  std::vector<std::optional<Result>> buffer_;

 private:
  std::optional<Result>& place(size_t number) { return buffer_[number % buffer_.size()]; }
};

}  // namespace sequencers
}  // namespace cresset::data::detail
