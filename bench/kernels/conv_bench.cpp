// Convolutions: time and rate of forward, backward-input and backward-weight on one thread. Usage: conv_bench [part of a row's name]
#include "bench/kernels/bench.h"
#include "cresset/base/parallel.h"
#include "cresset/kernels/conv/conv.h"

using namespace cresset;
using namespace cresset::bench;

namespace {

struct Shape {
  const char* name;
  int64_t batch, in, out, size, kernel, stride, padding, groups;
};

constexpr Shape kShapes[] = {
    {"mnist1_b64_1to32_28_k3", 64, 1, 32, 28, 3, 1, 0, 1},
    {"mnist2_b64_32to64_26_k3", 64, 32, 64, 26, 3, 1, 0, 1},
    {"b1_64to64_56_k3", 1, 64, 64, 56, 3, 1, 1, 1},
    {"b1_128to128_28_k3", 1, 128, 128, 28, 3, 1, 1, 1},
    {"b1_256to256_14_k3", 1, 256, 256, 14, 3, 1, 1, 1},
    {"b1_512to512_7_k3", 1, 512, 512, 7, 3, 1, 1, 1},
    {"b2_512to512_7_k3", 2, 512, 512, 7, 3, 1, 1, 1},
    {"b1_512to2048_7_k1", 1, 512, 2048, 7, 1, 1, 0, 1},
    {"b1_256to512_14_k3s2", 1, 256, 512, 14, 3, 2, 1, 1},
    {"b8_128to128_28_k3", 8, 128, 128, 28, 3, 1, 1, 1},
    {"b32_64to64_32_k3", 32, 64, 64, 32, 3, 1, 1, 1},
    {"b32_128to128_16_k3", 32, 128, 128, 16, 3, 1, 1, 1},
    {"b32_256to256_8_k3", 32, 256, 256, 8, 3, 1, 1, 1},
    {"b32_512to512_4_k3", 32, 512, 512, 4, 3, 1, 1, 1},
    {"b32_64to128_32_k3s2", 32, 64, 128, 32, 3, 2, 1, 1},
    {"b1_64to128_56_k3s2", 1, 64, 128, 56, 3, 2, 1, 1},
    {"b32_3to64_32_k3", 32, 3, 64, 32, 3, 1, 1, 1},
    {"b1_3to64_224_k7s2", 1, 3, 64, 224, 7, 2, 3, 1},
    {"b1_64to256_56_k1", 1, 64, 256, 56, 1, 1, 0, 1},
    {"b32_64to128_32_k1s2", 32, 64, 128, 32, 1, 2, 0, 1},
    {"b32_128to128_16_k1", 32, 128, 128, 16, 1, 1, 0, 1},
    {"b32_32to64_32_k1", 32, 32, 64, 32, 1, 1, 0, 1},
    {"depthwise_b32_128_16_k3", 32, 128, 128, 16, 3, 1, 1, 128},
    {"depthwise_b32_64_32_k3s2", 32, 64, 64, 32, 3, 2, 1, 64},
    {"depthwise_b32_32_32_k3", 32, 32, 32, 32, 3, 1, 1, 32},
    {"grouped_b8_128to128_28_k3_g32", 8, 128, 128, 28, 3, 1, 1, 32},
};

void report(const char* prefix, const Shape& s, const char* what, double flops, double t) {
  char name[128];
  std::snprintf(name, sizeof name, "%s%s_%s", prefix, s.name, what);
  row(name, t * 1e6, "us");
  std::strcat(name, ".flop");
  row(name, flops / t / 1e9, "GFLOP/s");
}

void run(const char* prefix, ScalarType dtype, const Shape& s) {
  if (!wanted(s.name)) return;
  kernels::ConvParams p;
  p.batch = s.batch;
  p.in_channels = s.in;
  p.out_channels = s.out;
  p.groups = s.groups;
  for (int d = 0; d < 2; d++) {
    p.input[d] = s.size;
    p.kernel[d] = s.kernel;
    p.stride[d] = s.stride;
    p.padding[d] = s.padding;
  }
  const int64_t inputs = s.batch * s.in * s.size * s.size, outputs = s.batch * s.out * p.output(0) * p.output(1);
  const int64_t weights = s.out * s.in / s.groups * s.kernel * s.kernel;
  const auto convert = [&](const std::vector<float>& v) {
    std::vector<char> bytes(v.size() * element_size(dtype));
    for (size_t i = 0; i < v.size(); i++) {
      if (dtype == ScalarType::BFloat16) reinterpret_cast<BFloat16*>(bytes.data())[i] = v[i];
      else reinterpret_cast<float*>(bytes.data())[i] = v[i];
    }
    return bytes;
  };
  auto x = convert(random_floats(inputs, 1)), w = convert(random_floats(weights, 2)), y = convert(random_floats(outputs, 3));
  auto b = convert(random_floats(s.out, 4)), gx = x, gw = w, gy = y, gb = b;
  const double flops = 2.0 * static_cast<double>(outputs * s.in / s.groups * s.kernel * s.kernel);
  report(prefix, s, "fwd", flops, seconds_per_call([&] { kernels::conv_forward(dtype, p, x.data(), w.data(), b.data(), y.data()); }));
  report(prefix, s, "bwd_input", flops, seconds_per_call([&] { kernels::conv_backward_input(dtype, p, gy.data(), w.data(), nullptr, gx.data()); }));
  report(prefix, s, "bwd_weight", flops, seconds_per_call([&] { kernels::conv_backward_weight(dtype, p, x.data(), gy.data(), gw.data(), gb.data()); }));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) filter() = argv[1];
  set_num_threads(argc > 2 ? std::atoi(argv[2]) : 1);
  for (const Shape& s : kShapes) run("", ScalarType::Float, s);
  for (int i : {1, 2, 3, 15}) run("bf16_", ScalarType::BFloat16, kShapes[i]);
}
