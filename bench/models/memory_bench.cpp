// Memory: blocks from the caching allocator against warm memory, and adds from the first cache to DRAM against a plain stream of
// non-temporal stores. One thread; GB/s count every byte read or written once. Usage: memory_bench [part of a row's name] [threads]
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "bench/kernels/bench.h"
#include "cresset/cresset.h"

using namespace cresset;
using namespace cresset::bench;

namespace {

// Bandwidth that stores reach which go around the caches: c = a + b.
void stream_add(const float* a, const float* b, float* c, int64_t n) {
#if defined(__x86_64__)
  for (int64_t i = 0; i < n; i += 4) _mm_stream_ps(c + i, _mm_add_ps(_mm_load_ps(a + i), _mm_load_ps(b + i)));
  _mm_sfence();
#else
  for (int64_t i = 0; i < n; i++) c[i] = a[i] + b[i];
#endif
}

void bandwidth(const char* name, int64_t bytes, const std::function<void()>& f) {
  if (wanted(name)) row(name, static_cast<double>(bytes) / seconds_per_call(f, 0.5) / 1e9, "GB/s");
}

void allocations() {
  constexpr size_t kBlock = size_t{4} << 20;
  char* const warm = static_cast<char*>(cpu_allocate(kBlock));
  const auto write = [](char* p) { std::memset(p, 1, kBlock); };
  const double again = seconds_per_call([&] { write(warm); });
  const double fresh = seconds_per_call([&] {
    char* const p = static_cast<char*>(cpu_allocate(kBlock));
    write(p);
    cpu_deallocate(p, kBlock);
  });
  const double alone = seconds_per_call([&] { cpu_deallocate(cpu_allocate(kBlock), kBlock); });
  cpu_deallocate(warm, kBlock);
  row("allocate_4MiB_write_free", fresh * 1e6, "us");
  row("rewrite_4MiB", again * 1e6, "us");
  row("allocate_4MiB_write_free.ratio", fresh / again, "x rewriting");
  row("allocate_4MiB_free", alone * 1e9, "ns");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) filter() = argv[1];
  set_num_threads(argc > 2 ? std::atoi(argv[2]) : 1);
  if (wanted("allocate_4MiB")) allocations();
  const NoGradGuard no_grad;
  for (const auto& [name, n] : {std::pair<const char*, int64_t>{"16k", 1 << 14}, {"1M", 1 << 20}, {"16M", 1 << 24}}) {
    const Tensor a = rand({n}), b = rand({n});
    Tensor out = cresset::empty({n});
    const std::string size = name;
    bandwidth(("add_out_" + size).c_str(), 12 * n, [&] { add_out(out, a, b); });
    bandwidth(("add_" + size).c_str(), 12 * n, [&] { add(a, b); });
    bandwidth(("stream_add_" + size).c_str(), 12 * n, [&] { stream_add(a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), n); });
  }
}
