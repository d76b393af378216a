// Worker "cpp" of a job whose worker "python" is a script: each calls the other and holds references to its values.
#include <cstdio>

#include "cresset/cresset.h"
#include "cresset/dist/rpc/rpc.h"

using namespace cresset;
using namespace cresset::distributed;

#define EXPECT(condition)                         \
  if (!(condition)) {                             \
    std::printf("cpp: not so: %s\n", #condition); \
    return 1;                                     \
  }

int main() {
  rpc::register_function("add", [](const Tensor& a, const Tensor& b) { return a + b; });
  rpc::register_function("divide", [](double a, double b) {
    CRESSET_CHECK_VALUE(b != 0, "divide: expected a number that is not 0");
    return a / b;
  });
  rpc::register_function("sum_of", [](const rpc::Value& reference) { return rpc::RRef::of(reference).to_here().toTensor().sum().item<double>(); });
  rpc::init_rpc("cpp");
  EXPECT(rpc::rpc_sync("python", "half", {rpc::Value(5)}).toDouble() == 2.5);
  EXPECT(rpc::rpc_sync("python", "__main__:plus", {rpc::Value("a"), rpc::Value("b")}).to_string() == "ab");
  const rpc::RRef far = rpc::remote("python", "__main__:plus", {rpc::Value(ones({2})), rpc::Value(1)});
  EXPECT(equal(far.to_here().toTensor(), full({2}, 2.f)));
  try {
    rpc::rpc_sync("python", "os:system", {rpc::Value("true")});
    EXPECT(false);
  } catch (const Error& error) { EXPECT(std::string(error.what()).find("not let in") != std::string::npos); }
  rpc::shutdown();
  std::puts("ok");
}
