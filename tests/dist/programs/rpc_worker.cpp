// Worker "cpp" of a job whose worker "python" is a script: each calls the other and holds references to its values.
#include <cstdio>

#include "cresset/cresset.h"
#include "cresset/dist/rpc/autograd.h"

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
  rpc::register_function("square", [](const Tensor& x) { return x * x; });
  rpc::init_rpc("cpp");
  EXPECT(rpc::rpc_sync("python", "half", {rpc::Value(5)}).toDouble() == 2.5);
  EXPECT(rpc::rpc_sync("python", "__main__:plus", {rpc::Value("a"), rpc::Value("b")}).to_string() == "ab");
  const rpc::RRef far = rpc::remote("python", "__main__:plus", {rpc::Value(ones({2})), rpc::Value(1)});
  EXPECT(equal(far.to_here().toTensor(), full({2}, 2.f)));
  try {
    rpc::rpc_sync("python", "os:system", {rpc::Value("true")});
    EXPECT(false);
  } catch (const Error& error) { EXPECT(std::string(error.what()).find("not let in") != std::string::npos); }
  {
    distributed::autograd::Context pass;  // here to python, from there back to here
    const Tensor x = arange(2).to(kFloat).set_requires_grad(true);
    distributed::autograd::backward(pass.id(), {rpc::rpc_sync("python", "scaled", {rpc::Value(x)}).toTensor().sum()});
    EXPECT(equal(distributed::autograd::get_gradient(pass.id(), x), x.detach() * 18));
    EXPECT(equal(rpc::rpc_sync("python", "of_w", {rpc::Value(pass.id())}).toTensor(), x.detach() * x.detach() * 6));
  }
  rpc::shutdown();
  std::puts("ok");
}
