// Recording a part of a program: named scopes, events, a trace in a file.

#include <torch/csrc/autograd/profiler.h>
#include <torch/torch.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

int main() {
  using namespace torch::autograd::profiler;
  const torch::Tensor x = torch::ones({8, 8});
  enableProfiler(ProfilerConfig(ProfilerState::KINETO, /*report_input_shapes=*/true), {ActivityType::CPU});
  {
    RECORD_FUNCTION("my part", std::vector<c10::IValue>({x}));
    x.mm(x);
  }
  const auto result = disableProfiler();
  bool part = false, product = false;
  for (const KinetoEvent& e : result->events()) {
    part = part || e.name() == "my part";
    product = product || (e.name() == "aten::mm" && e.shapes().at(0) == std::vector<int64_t>{8, 8} && e.durationNs() > 0);
  }
  result->save("profiled_trace.json");
  std::ifstream file("profiled_trace.json");
  std::stringstream text;
  text << file.rdbuf();
  std::remove("profiled_trace.json");
  std::ostringstream written;
  {
    const RecordProfile recorded(written);
    x.sin();
  }
  const bool traced = text.str().find("aten::mm") != std::string::npos && written.str().find("aten::sin") != std::string::npos;
  std::cout << (part && product && traced && !profilerEnabled() ? "profiled: ok" : "profiled: wrong") << std::endl;
  return part && product && traced ? 0 : 1;
}
