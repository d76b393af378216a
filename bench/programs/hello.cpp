// The smallest program: one sum. Prints the peak of resident memory; its wall time is the price of starting.
#include <sys/resource.h>
#include <torch/torch.h>

#include "timing.h"

int main() {
  const torch::Tensor x = torch::ones({2, 3}) + 1;
  if (x.sum().item<float>() != 12.0f) return 1;
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  bench::row("hello_resident", static_cast<double>(usage.ru_maxrss) / 1024, "MiB");
}
