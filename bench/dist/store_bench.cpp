// A store with a thousand clients, and how long 64 processes of one host take to form a group; each client and rank is real.

#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "bench/programs/timing.h"
#include "cresset/dist/distributed.h"
#include "cresset/ops/functions.h"

using namespace cresset;
using namespace cresset::distributed;

namespace {

constexpr int kProcesses = 4, kThreads = 250, kRequests = 100, kRanks = 64;

double now() { return bench::seconds(2); }

intrusive_ptr<TCPStore> client(uint16_t port) {
  TCPStoreOptions o;
  o.port = port;
  return make_intrusive<TCPStore>("127.0.0.1", o);
}

// Every thread is a client with a connection of its own; they begin together.
void ask(uint16_t port) {
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::condition_variable changed;
  int ready = 0;
  bool begun = false;
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([&, t] {
      const auto store = client(port);
      const std::string key = str("key ", getpid(), " ", t);
      store->set(key, std::string("value"));
      {
        std::unique_lock<std::mutex> lock(mutex);
        ready++;
        changed.notify_all();
        changed.wait(lock, [&] { return begun; });
      }
      for (int i = 0; i < kRequests / 2; i++) {
        store->add("count", 1);
        store->get(key);
      }
    });
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return ready == kThreads; });
  }
  const auto store = client(port);
  store->add("ready", 1);
  store->wait({"begin"});
  {
    const std::lock_guard<std::mutex> lock(mutex);
    begun = true;
  }
  changed.notify_all();
  for (std::thread& t : threads) t.join();
  store->add("done", 1);
}

// Runs `f(i)` in processes of their own; false where one failed.
template <class F> std::vector<pid_t> forked(int count, F&& f) {
  std::vector<pid_t> all;
  for (int i = 0; i < count; i++) {
    const pid_t pid = fork();
    if (pid == 0) {
      try {
        f(i);
        _exit(0);
      } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        _exit(1);
      }
    }
    all.push_back(pid);
  }
  return all;
}
void end(const std::vector<pid_t>& processes) {
  for (const pid_t pid : processes) {
    int status = 0;
    waitpid(pid, &status, 0);
    if (status != 0) std::exit(1);
  }
}

void until(Store& store, const char* key, int64_t count) {
  while (store.add(key, 0) < count) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

}  // namespace

int main() {
  TCPStoreOptions o;
  o.port = 0;
  o.isServer = true;
  const auto store = make_intrusive<TCPStore>("127.0.0.1", o);
  const uint16_t port = store->getPort();
  const auto askers = forked(kProcesses, [&](int) { ask(port); });
  until(*store, "ready", kProcesses);
  double begin = now();
  store->set("begin", std::string());
  until(*store, "done", kProcesses);
  bench::row("store with 1000 clients", kProcesses * kThreads * kRequests / (now() - begin), "requests/s");
  end(askers);

  begin = now();
  const auto ranks = forked(kRanks, [&](int rank) {
    const auto mine = make_intrusive<PrefixStore>("group", client(port));
    ProcessGroupGloo group(mine, rank, kRanks);
    Tensors one = {ones({1})};
    AllreduceOptions options;
    options.asyncOp = false;
    group.allreduce(one, options);
    CRESSET_CHECK(one[0].item<int>() == kRanks, "not the sum of all ranks");
  });
  end(ranks);
  bench::row("64 processes form a group and add", now() - begin, "s");
}
