// Tasks on threads of their own, and names that <torch/torch.h> alone brings.
#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <future>
#include <thread>

#include "expect.h"

int main() {
  check(at::get_num_interop_threads() >= 1 && throws<c10::Error>([] { at::set_num_interop_threads(0); }), "the number of tasks");
  at::set_num_interop_threads(2);
  check(at::get_num_interop_threads() == 2 && throws<c10::Error>([] { at::set_num_interop_threads(3); }), "is set once");

  // Two tasks that wait for each other and for this thread: they run beside it.
  std::promise<int> to_task, to_other, back;
  at::launch([&] { to_other.set_value(to_task.get_future().get() + 1); });
  at::launch([&] { back.set_value(to_other.get_future().get() + 1); });
  to_task.set_value(1);
  check(back.get_future().get() == 3, "tasks run beside each other");

  auto generator = at::detail::createCPUGenerator(42);
  const torch::Tensor drawn = torch::rand({3}, generator);
  generator.set_current_seed(42);
  check(drawn.equal(torch::rand({3}, generator)), "a generator of one's own");
  check(torch::arange(4).packed_accessor64<int64_t, 1>()[2] == 2, "packed accessor");
  c10::List<int64_t> list({1, 2});
  c10::Dict<std::string, int64_t> dict;
  dict.insert("a", 1);
  check(list.size() == 2 && dict.at("a") == 1, "containers");
  return failures;
}
