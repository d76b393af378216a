// Kernels through the public interface, on random data. Usage: kernels [threads [part of a row's name [seconds a row]]]
#include <torch/torch.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "timing.h"

namespace {

int threads = 1;
double budget = 0.2;
std::string wanted;

// work: GFLOP, GB or 1 for the call itself; the row is work per second, or microseconds a call.
template <class F> void rate(const std::string& name, double work, const char* unit, F&& f) {
  if (name.find(wanted) == std::string::npos) return;
  bench::row(name.c_str(), work / bench::best_seconds(f, threads, budget), unit);
}
template <class F> void time(const std::string& name, F&& f) {
  if (name.find(wanted) == std::string::npos) return;
  bench::row(name.c_str(), bench::best_seconds(f, threads, budget) * 1e6, "us");
}

void products() {
  for (const int64_t n : {64, 256, 512, 1024, 2048}) {
    const torch::Tensor a = torch::randn({n, n}), b = torch::randn({n, n});
    torch::Tensor c = torch::empty({n, n});
    rate("sgemm_" + std::to_string(n), 2e-9 * static_cast<double>(n * n * n), "GFLOP/s", [&] { torch::mm_out(c, a, b); });
  }
}

void convolutions() {
  struct Shape {
    const char* name;
    int64_t batch, in, out, size, kernel, stride, groups;
  };
  const std::vector<Shape> shapes = {{"conv_64to64_56_k3", 1, 64, 64, 56, 3, 1, 1},
                                     {"conv_128to128_28_k3", 1, 128, 128, 28, 3, 1, 1},
                                     {"conv_256to256_14_k3", 1, 256, 256, 14, 3, 1, 1},
                                     {"conv_512to512_7_k3", 1, 512, 512, 7, 3, 1, 1},
                                     {"conv_64to256_56_k1", 1, 64, 256, 56, 1, 1, 1},
                                     {"conv_3to64_224_k7_s2", 1, 3, 64, 224, 7, 2, 1},
                                     {"conv_depthwise128_16_b32", 32, 128, 128, 16, 3, 1, 128}};
  for (const Shape& s : shapes) {
    const torch::Tensor x = torch::randn({s.batch, s.in, s.size, s.size}), w = torch::randn({s.out, s.in / s.groups, s.kernel, s.kernel});
    const int64_t padding = s.kernel / 2, side = (s.size + 2 * padding - s.kernel) / s.stride + 1;
    const double work = 2e-9 * static_cast<double>(s.batch * s.out * side * side * (s.in / s.groups) * s.kernel * s.kernel);
    const auto run = [&](const torch::Tensor& input, const torch::Tensor& weight) {
      return torch::conv2d(input, weight, {}, {s.stride, s.stride}, {padding, padding}, {1, 1}, s.groups);
    };
    rate(s.name, work, "GFLOP/s", [&] { run(x, w); });
    const torch::Tensor gx = x.clone().requires_grad_(), gw = w.clone().requires_grad_();
    const torch::Tensor grad = torch::randn({s.batch, s.out, side, side});
    rate(std::string(s.name) + "_train", 3 * work, "GFLOP/s", [&] { torch::autograd::grad({run(gx, gw)}, {gx, gw}, {grad}); });
  }
}

void memory() {
  for (const int64_t n : {int64_t{16} << 10, int64_t{1} << 20, int64_t{16} << 20}) {
    const torch::Tensor a = torch::randn({n}), b = torch::randn({n});
    torch::Tensor c = torch::empty({n});
    const std::string size = n < 1 << 20 ? "16k" : n == 1 << 20 ? "1M" : "16M";
    rate("add_out_" + size, 12e-9 * static_cast<double>(n), "GB/s", [&] { torch::add_out(c, a, b); });
    if (n == int64_t{16} << 20) rate("add_new_" + size, 12e-9 * static_cast<double>(n), "GB/s", [&] { torch::Tensor z = a + b; });
  }
  torch::Tensor warm = torch::empty({1 << 20});
  time("write_warm_4MiB", [&] { std::memset(warm.data_ptr<float>(), 1, 4 << 20); });
  time("allocate_write_free_4MiB", [&] {
    torch::Tensor fresh = torch::empty({1 << 20});
    std::memset(fresh.data_ptr<float>(), 1, 4 << 20);
  });
}

void pointwise() {
  const int64_t n = 1 << 20;
  const torch::Tensor x = torch::randn({n});
  torch::Tensor out = torch::empty({n});
  const double work = 1e-9 * static_cast<double>(n);
  rate("exp_1M", work, "Gelem/s", [&] { torch::exp_out(out, x); });
  rate("tanh_1M", work, "Gelem/s", [&] { torch::tanh_out(out, x); });
  rate("sigmoid_1M", work, "Gelem/s", [&] { torch::sigmoid_out(out, x); });
  rate("gelu_1M", work, "Gelem/s", [&] { torch::gelu(x); });
}

void reductions() {
  const torch::Tensor small = torch::randn({1 << 20}), large = torch::randn({16 << 20}), square = torch::randn({1024, 1024});
  rate("sum_1M", 4e-9 * (1 << 20), "GB/s", [&] { small.sum(); });
  rate("sum_16M", 4e-9 * (16 << 20), "GB/s", [&] { large.sum(); });
  rate("argmax_1M", 4e-9 * (1 << 20), "GB/s", [&] { small.argmax(); });
  rate("cumsum_1M", 8e-9 * (1 << 20), "GB/s", [&] { small.cumsum(0); });
  rate("softmax_1024", 8e-9 * (1 << 20), "GB/s", [&] { torch::softmax(square, 1); });
  rate("transpose_contiguous_1024", 8e-9 * (1 << 20), "GB/s", [&] { square.t().contiguous(); });
}

void layers() {
  const torch::Tensor tokens = torch::randn({4096, 768}), weight = torch::randn({768}), bias = torch::randn({768});
  rate("layer_norm_4096x768", 8e-9 * 4096 * 768, "GB/s", [&] { torch::layer_norm(tokens, {768}, weight, bias); });
  const torch::Tensor logits = torch::randn({1024, 50257}), target = torch::randint(50257, {1024}, torch::kLong);
  time("cross_entropy_1024x50257", [&] { torch::cross_entropy_loss(logits, target); });
  const torch::Tensor leaf = logits.clone().requires_grad_();
  time("cross_entropy_1024x50257_train", [&] { torch::autograd::grad({torch::cross_entropy_loss(leaf, target)}, {leaf}); });
  const torch::Tensor q = torch::randn({1, 12, 512, 64}), k = torch::randn({1, 12, 512, 64}), v = torch::randn({1, 12, 512, 64});
  time("attention_12x512x64", [&] { torch::scaled_dot_product_attention(q, k, v); });
  time("attention_12x512x64_causal", [&] { torch::scaled_dot_product_attention(q, k, v, {}, 0.0, true); });
  const torch::Tensor image = torch::randn({64, 64, 24, 24});
  time("max_pool_b64_24_k2", [&] { torch::max_pool2d(image, 2); });
}

void samples() {
  const int64_t n = 1 << 20;
  torch::Tensor x = torch::empty({n});
  const torch::Tensor keys = torch::randn({n}), vocabulary = torch::randn({50257});
  time("rand_1M", [&] { x.uniform_(); });
  time("randn_1M", [&] { x.normal_(); });
  time("bernoulli_1M", [&] { x.bernoulli_(0.5); });
  time("randperm_1M", [&] { torch::randperm(n); });
  time("sort_1M", [&] { keys.sort(); });
  time("topk50_of_50257", [&] { vocabulary.topk(50); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) threads = std::atoi(argv[1]);
  if (argc > 2) wanted = argv[2];
  if (argc > 3) budget = std::atof(argv[3]);
  torch::set_num_threads(threads);
  torch::manual_seed(0);
  products();
  convolutions();
  memory();
  pointwise();
  reductions();
  layers();
  samples();
}
