#pragma once
// Starts the processes of a program on this machine, each with its place in its environment, and ends all when one fails.

#include <cstdint>
#include <string>
#include <vector>

#include "cresset/base/macros.h"

namespace cresset::distributed {

struct CRESSET_API LaunchOptions {
  int processes = 1, nodes = 1, node_rank = 0, max_restarts = 0;
  std::string master_address = "127.0.0.1";
  uint16_t master_port = 29500;  // 0: one that is free
  std::string run_id = "none", log_folder;
  std::vector<std::string> command;
};

// How a job ended: -1 where all processes ended well, else the local rank of the one that failed first, with its exit code, or the signal's number as a
// negative one.
struct CRESSET_API LaunchResult {
  int failed_rank = -1, exit_code = 0, restarts = 0;
};

// Runs the job; again after failures, as often as asked. A signal that ends this process (SIGTERM, SIGINT) is passed on. Where no secret is set, a job of
// one machine gets one. Errors: ValueError for options that do not fit, DistError where the port is taken.
CRESSET_API LaunchResult launch(const LaunchOptions& options);
// The options of a command line: --nproc-per-node, --nnodes, --node-rank, --master-addr, --master-port, --max-restarts, --rdzv-id, --log-dir,
// --standalone, then the program. Errors: ValueError.
CRESSET_API LaunchOptions parse_launch_options(const std::vector<std::string>& arguments);

}  // namespace cresset::distributed
