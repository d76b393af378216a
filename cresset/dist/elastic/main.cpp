// cresset-run: the launcher of C++ programs. cresset-run --nproc-per-node 4 ./train --epochs 3

#include <csignal>
#include <cstdio>
#include <cstring>

#include "cresset/dist/elastic/launcher.h"
#include "cresset/dist/errors.h"

int main(int argc, char** argv) {
  using namespace cresset::distributed;
  try {
    const LaunchOptions options = parse_launch_options({argv + 1, argv + argc});
    const LaunchResult result = launch(options);
    if (result.failed_rank < 0) return 0;
    if (result.exit_code == -SIGSTOP)
      std::fprintf(stderr, "cresset-run: %s: local rank %d stood still for longer than %lld ms; all were ended\n", options.command[0].c_str(),
                   result.failed_rank, static_cast<long long>(options.stopped_limit.count()));
    else if (result.exit_code < 0)
      std::fprintf(stderr, "cresset-run: %s: local rank %d ended by signal %d (%s); the others were ended\n", options.command[0].c_str(), result.failed_rank,
                   -result.exit_code, strsignal(-result.exit_code));
    else
      std::fprintf(stderr, "cresset-run: %s: local rank %d ended with exit code %d; the others were ended\n", options.command[0].c_str(), result.failed_rank,
                   result.exit_code);
    return 1;
  } catch (const cresset::Error& e) { std::fprintf(stderr, "%s\n", e.what()); }
  return 2;
}
