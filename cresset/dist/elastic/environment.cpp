#include "cresset/dist/elastic/environment.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "cresset/dist/store/tcp_store.h"
#include "cresset/dist/transport/providers.h"
#include "cresset/dist/transport/secret.h"

namespace cresset::distributed {

namespace {

std::string text_of(const char* name) {
  const char* text = std::getenv(name);
  CRESSET_CHECK_VALUE(text && *text, "init_process_group: the environment variable ", name, " is missing; start the program by cresset-run or torchrun");
  return text;
}
int number_of(const char* name, int least, int most) {
  const std::string text = text_of(name);
  char* end = nullptr;
  const long number = std::strtol(text.c_str(), &end, 10);
  CRESSET_CHECK_VALUE(*end == '\0' && number >= least && number <= most, "init_process_group: expected ", name, " in [", least, ", ", most, "], got '", text,
                      "'");
  return static_cast<int>(number);
}

}  // namespace

Environment Environment::read() {
  Environment e;
  e.world_size = number_of("WORLD_SIZE", 1, 1 << 15);
  e.rank = number_of("RANK", 0, e.world_size - 1);
  e.local_rank = std::getenv("LOCAL_RANK") ? number_of("LOCAL_RANK", 0, 1 << 15) : 0;
  e.master_address = text_of("MASTER_ADDR");
  e.master_port = static_cast<uint16_t>(number_of("MASTER_PORT", 0, 65535));
  const char* agent = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  e.agent_has_store = agent && std::string(agent) == "True";
  // Nodes may have begun again differently often: the launcher says what all of them call this attempt.
  for (const char* name : {"TORCHELASTIC_RESTART_COUNT", "CRESSET_JOB_ATTEMPT"})
    if (const char* count = std::getenv(name)) e.attempt = count;
  return e;
}

intrusive_ptr<Store> job_store(const Environment& e, std::chrono::milliseconds timeout) {
  TCPStoreOptions o;
  o.port = e.master_port;
  o.isServer = !e.agent_has_store && e.rank == 0;
  if (!e.agent_has_store) o.numWorkers = static_cast<size_t>(e.world_size);
  o.timeout = timeout;
  intrusive_ptr<Store> store = make_intrusive<TCPStore>(e.master_address, o);
  return e.agent_has_store ? make_intrusive<PrefixStore>("/worker/attempt_" + e.attempt, store) : store;
}

MpiJob mpi_job(std::chrono::milliseconds timeout) {
  MpiJob job;
  auto keep_secret = [](const std::string& secret) { setenv("CRESSET_DIST_SECRET", secret.c_str(), 1); };
  auto connected = [&](const std::string& host, uint16_t port, bool server) {
    TCPStoreOptions o;
    o.port = port;
    o.isServer = server;
    o.timeout = timeout;
    job.host = host;
    auto store = make_intrusive<TCPStore>(host, o);
    job.store = store;
    return store->getPort();
  };
  JobRequest request;
  request.text = [&](bool one_host) {
    char name[256] = "127.0.0.1";
    if (!one_host) gethostname(name, sizeof name - 1);
    if (job_secret().empty()) keep_secret(random_secret());
    const uint16_t port = connected(name, 0, true);
    return str(name, " ", port, " ", job_secret());
  };
  ask_for_job("mpi", request);
  job.rank = request.rank;
  job.size = request.size;
  if (job.rank == 0) return job;
  std::istringstream parts(request.shared);
  std::string host, secret;
  uint16_t port = 0;
  parts >> host >> port >> std::ws;
  std::getline(parts, secret, '\0');
  keep_secret(secret);
  connected(host, port, false);
  return job;
}

intrusive_ptr<ProcessGroup> init_process_group(const EngineGroupOptions& options) {
  if (options.engine == "mpi") {
    const MpiJob job = mpi_job(options.timeout);
    return make_intrusive<ProcessGroupMPI>(make_intrusive<PrefixStore>("default_pg", job.store), job.rank, job.size, options);
  }
  const Environment e = Environment::read();
  const auto store = make_intrusive<PrefixStore>("default_pg", job_store(e, options.timeout));
  return make_intrusive<ProcessGroupGloo>(store, e.rank, e.world_size, options);
}

}  // namespace cresset::distributed
