// Groups of processes with LibTorch's names: here each rank is a thread.

#include <torch/torch.h>
#include <torch/csrc/distributed/c10d/Backoff.hpp>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <cstdio>
#include <cstdlib>
#include <thread>

#define REQUIRE(condition)                                \
  do {                                                    \
    if (!(condition)) {                                   \
      std::printf("line %d: %s\n", __LINE__, #condition); \
      std::exit(1);                                       \
    }                                                     \
  } while (false)

namespace c10d {
// A backend of the program's own, in LibTorch's namespace.
class Alone : public ProcessGroup {
 public:
  Alone() : ProcessGroup(0, 1) {}
  c10::intrusive_ptr<Work> barrier(const BarrierOptions& = BarrierOptions()) override {
    auto work = c10::make_intrusive<Work>();
    work->finish();
    return work;
  }
};
}  // namespace c10d

void run(c10::intrusive_ptr<c10d::Store> store, int rank, int size) {
  const auto how = c10d::ProcessGroupGloo::Options::create();
  how->timeout = std::chrono::seconds(60);
  how->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  c10d::ProcessGroupGloo group(c10::make_intrusive<c10d::PrefixStore>("job", store), rank, size, how);
  REQUIRE(group.getRank() == rank && group.getSize() == size && group.getBackendName() == "gloo");

  std::vector<at::Tensor> tensors = {at::full({4}, rank + 1.0)};
  auto work = group.allreduce(tensors);
  work->wait();
  REQUIRE(work->isCompleted() && work->isSuccess());
  REQUIRE(at::equal(tensors[0], at::full({4}, 3.0)));

  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::MAX;
  tensors = {at::full({4}, static_cast<double>(rank))};
  group.allreduce(tensors, options)->wait();
  REQUIRE(at::equal(tensors[0], at::full({4}, 1.0)));

  std::vector<std::vector<at::Tensor>> outputs = {{at::empty({2}), at::empty({2})}};
  std::vector<at::Tensor> inputs = {at::full({2}, static_cast<float>(rank))};
  group.allgather(outputs, inputs)->wait();
  REQUIRE(at::equal(outputs[0][1], at::ones({2})));

  std::vector<at::Tensor> message = {rank == 0 ? at::full({3}, 7.f) : at::empty({3})};
  (rank == 0 ? group.send(message, 1, 5) : group.recv(message, 0, 5))->wait();
  REQUIRE(at::equal(message[0], at::full({3}, 7.f)));
  group.barrier()->wait();
}

int main() {
  c10d::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  store->set("key", std::vector<uint8_t>{1, 2});
  REQUIRE(store->get("key") == (std::vector<uint8_t>{1, 2}) && store->add("n", 3) == 3 && store->getNumKeys() == 2 && store->deleteKey("n"));
  store->waitForWorkers();
  const auto raises = [](auto f) {
    try {
      f();
    } catch (const c10::Error&) { return true; }
    return false;
  };
  REQUIRE(raises([] { c10::make_intrusive<c10d::TCPStore>("127.0.0.1", c10d::TCPStoreOptions{0, true, 1, false, std::chrono::seconds(1), false, 7, true}); }));
  REQUIRE(raises([] { c10d::ProcessGroupGloo::createDeviceForHostname("203.0.113.7"); }));
  c10d::HashStore empty;
  bool missing = false;
  try {
    empty.wait({"key"}, std::chrono::milliseconds(1));
  } catch (const c10::DistStoreError&) { missing = true; }
  REQUIRE(missing && c10d::Alone().barrier()->isCompleted());

  c10d::ExponentialBackoffWithJitter grows;
  grows.randomizationFactor = 0;
  grows.maxInterval = std::chrono::milliseconds(1000);
  REQUIRE(grows.nextBackoff().count() == 500 && grows.nextBackoff().count() == 750 && grows.nextBackoff().count() == 1000 &&
          grows.nextBackoff().count() == 1000);
  grows.reset();
  grows.randomizationFactor = 0.5;
  const auto somewhere = grows.nextBackoff().count();
  REQUIRE(somewhere >= 250 && somewhere <= 750 && c10d::FixedBackoff(std::chrono::milliseconds(3)).nextBackoff().count() == 3);
  std::thread other([&] { run(store, 1, 2); });
  run(store, 0, 2);
  other.join();
  std::puts("process_group: ok");
}
