#pragma once
// Starts the processes of a program on this machine, each with its place in its environment, and ends all when one fails.

#include <cstdint>
#include <string>
#include <vector>

#include "cresset/dist/elastic/rendezvous.h"

namespace cresset::distributed {

struct CRESSET_API LaunchOptions {
  int processes = 1, nodes = 1, node_rank = 0, max_restarts = 0;
  // How nodes meet: "static", by their ranks at the master's address; "c10d", in rounds over a store at the endpoints, which one of them has; "etcd", the
  // same in etcd. The last two take nodes to max_nodes of them.
  std::string rendezvous = "static", endpoints;
  int max_nodes = 0;  // 0: as `nodes`, which else is the least number
  RendezvousOptions rounds;
  std::string master_address = "127.0.0.1";
  uint16_t master_port = 29500;  // 0: one that is free
  std::string run_id = "none", log_folder;
  // A process that stands still (SIGSTOP) for longer counts as failed; 0: never.
  std::chrono::milliseconds stopped_limit = std::chrono::minutes(5);
  std::vector<std::string> command;
};

// How a job ended: -1 where all processes ended well, else the local rank of the one that failed first, with its exit code, or the signal's number as a
// negative one; -SIGSTOP for one that stood still too long.
struct CRESSET_API LaunchResult {
  int failed_rank = -1, exit_code = 0, restarts = 0;
};

// Runs the job; again after failures, as often as asked, and, where nodes may come and go, with those that are there. A signal that ends this process (SIGTERM, SIGINT) is passed on. Where no secret is set, a job of
// one machine gets one. Errors: ValueError for options that do not fit, DistError where the port is taken.
CRESSET_API LaunchResult launch(const LaunchOptions& options);
// The options of a command line: --nproc-per-node, --nnodes (N or LEAST:MOST), --node-rank, --master-addr, --master-port, --max-restarts, --rdzv-id,
// --rdzv-backend, --rdzv-endpoint, --rdzv-conf, --log-dir, --stopped-timeout (seconds), --standalone, then the program. Errors: ValueError.
CRESSET_API LaunchOptions parse_launch_options(const std::vector<std::string>& arguments);

}  // namespace cresset::distributed
