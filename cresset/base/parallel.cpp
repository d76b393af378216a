#include "cresset/base/parallel.h"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "cresset/base/error.h"
#include "cresset/base/numbers/denormal.h"

namespace cresset {

namespace {

thread_local bool t_in_region = false;

int initial_threads() {
  for (const char* name : {"CRESSET_NUM_THREADS", "OMP_NUM_THREADS"})
    if (const char* text = std::getenv(name))
      if (int n = std::atoi(text); n > 0) return n;
  const unsigned cores = std::thread::hardware_concurrency();
  return cores ? static_cast<int>(cores) : 1;
}

void cpu_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// One parallel_for at a time uses the workers; a second caller runs its range inline, which keeps the thread count bounded.
// Chunks are taken from a shared counter, so a worker held up by a busy neighbour delays at most one chunk.
class Pool {
 public:
  ~Pool() { stop(); }

  void run(int64_t begin, int64_t end, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
    std::unique_lock<std::mutex> owner(owner_, std::try_to_lock);
    if (!owner.owns_lock()) return body(begin, end);
    const int threads = get_num_threads();
    resize(threads - 1);
    const int64_t length = end - begin;
    // A few large items are taken one by one: chunks of several would leave threads without.
    const int64_t most = static_cast<int64_t>(threads) * (length <= int64_t{16} * threads ? 16 : 2);
    const int64_t wanted = std::min<int64_t>((length + grain - 1) / grain, most);
    Job job{&body, begin, end, (length + wanted - 1) / wanted};
    {
      std::lock_guard<std::mutex> lock(mutex_);
      job_ = &job;
      epoch_.fetch_add(1, std::memory_order_release);
    }
    if (sleeping_.load(std::memory_order_seq_cst) > 0) wake_.notify_all();
    t_in_region = true;
    job.work();
    t_in_region = false;
    {
      // No worker may enter the job from here on; those inside are waited for.
      std::lock_guard<std::mutex> lock(mutex_);
      job_ = nullptr;
    }
    for (int spins = 0; job.inside.load(std::memory_order_acquire) > 0; spins++) spins < 4096 ? cpu_pause() : std::this_thread::yield();
    if (job.error) std::rethrow_exception(job.error);
  }

 private:
  struct Job {
    FunctionRef<void(int64_t, int64_t)>* body;
    int64_t begin, end, chunk;
    bool flushes = detail::flushes_denormals();  // of the caller, whose numbers these are
    std::atomic<int64_t> next{0};
    std::atomic<int> inside{0};
    std::mutex error_mutex{};
    std::exception_ptr error{};

    void work() {
      const int64_t count = (end - begin + chunk - 1) / chunk;
      for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
        const int64_t b = begin + i * chunk, e = std::min(end, b + chunk);
        try {
          (*body)(b, e);
        } catch (...) {
          std::lock_guard<std::mutex> lock(error_mutex);
          if (!error) error = std::current_exception();
        }
      }
    }
  };

  void resize(int workers) {
    if (static_cast<int>(workers_.size()) == workers) return;
    stop();
    stopping_ = false;
    for (int i = 0; i < workers; i++) workers_.emplace_back([this] { loop(); });
  }

  void stop() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
      epoch_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    for (auto& w : workers_) w.join();
    workers_.clear();
  }

  void loop() {
    t_in_region = true;
    uint64_t seen = 0;
    for (;;) {
      for (int spins = 0; epoch_.load(std::memory_order_acquire) == seen && spins < kSpins; spins++) cpu_pause();
      Job* job = nullptr;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        sleeping_.fetch_add(1, std::memory_order_seq_cst);
        wake_.wait(lock, [&] { return epoch_.load(std::memory_order_acquire) != seen; });
        sleeping_.fetch_sub(1, std::memory_order_relaxed);
        seen = epoch_.load(std::memory_order_acquire);
        if (stopping_) return;
        job = job_;
        if (job) job->inside.fetch_add(1, std::memory_order_relaxed);
      }
      if (!job) continue;
      if (detail::flushes_denormals() != job->flushes) detail::flush_denormals(job->flushes);
      job->work();
      job->inside.fetch_sub(1, std::memory_order_release);
    }
  }

  // About 20 us of pauses: long enough to bridge the gap between two ops, short enough not to starve a neighbour.
  static constexpr int kSpins = 2000;
  std::mutex owner_, mutex_;
  std::condition_variable wake_;
  std::atomic<uint64_t> epoch_{0};
  std::atomic<int> sleeping_{0};
  Job* job_ = nullptr;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

Pool& pool() {
  static Pool* p = new Pool;  // never destroyed: worker threads may outlive static destructors
  return *p;
}

}  // namespace

namespace detail {

std::atomic<int> g_num_threads{initial_threads()};

void parallel_for_slow(int64_t begin, int64_t end, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (t_in_region) return body(begin, end);
  pool().run(begin, end, grain < 1 ? 1 : grain, body);
}

}  // namespace detail

int get_num_threads() { return detail::g_num_threads.load(std::memory_order_relaxed); }

void set_num_threads(int n) {
  CRESSET_CHECK(n > 0, "set_num_threads: expected a positive number of threads, got ", n);
  detail::g_num_threads.store(n, std::memory_order_relaxed);
}

bool in_parallel_region() { return t_in_region; }

}  // namespace cresset
