#include "cresset/dist/elastic/launcher.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "cresset/base/warning.h"
#include "cresset/dist/elastic/endpoints.h"
#include "cresset/dist/store/etcd_store.h"
#include "cresset/dist/store/tcp_store.h"
#include "cresset/dist/transport/secret.h"

extern char** environ;

namespace cresset::distributed {

namespace {

constexpr auto kGrace = std::chrono::seconds(5);
volatile sig_atomic_t told_to_end = 0;

// SIGTERM and SIGINT are noted while a job runs.
class Signals {
 public:
  Signals() {
    struct sigaction note {};
    note.sa_handler = [](int number) { told_to_end = number; };
    for (size_t i = 0; i < 2; i++) sigaction(kNumbers[i], &note, &before_[i]);
  }
  ~Signals() {
    for (size_t i = 0; i < 2; i++) sigaction(kNumbers[i], &before_[i], nullptr);
  }

 private:
  static constexpr int kNumbers[] = {SIGTERM, SIGINT};
  struct sigaction before_[2];
};

// The place of this machine's processes in a life of the job.
struct Place {
  int node = 0, nodes = 1, first_rank = 0, size = 1, restarts = 0;
  std::string master_address;
  uint16_t master_port = 0;
};

std::vector<std::string> environment_of(const LaunchOptions& o, const Place& place, int local, const std::string& secret) {
  const int rank = place.first_rank + local, size = place.size;
  std::vector<std::pair<std::string, std::string>> facts = {
      {"RANK", std::to_string(rank)},
      {"LOCAL_RANK", std::to_string(local)},
      {"WORLD_SIZE", std::to_string(size)},
      {"LOCAL_WORLD_SIZE", std::to_string(o.processes)},
      {"GROUP_RANK", std::to_string(place.node)},
      {"GROUP_WORLD_SIZE", std::to_string(place.nodes)},
      {"ROLE_RANK", std::to_string(rank)},
      {"ROLE_NAME", "default"},
      {"ROLE_WORLD_SIZE", std::to_string(size)},
      {"MASTER_ADDR", place.master_address},
      {"MASTER_PORT", std::to_string(place.master_port)},
      {"TORCHELASTIC_RUN_ID", o.run_id},
      {"TORCHELASTIC_RESTART_COUNT", std::to_string(place.restarts)},
      {"CRESSET_JOB_ATTEMPT", std::to_string(place.restarts)},
      {"TORCHELASTIC_MAX_RESTARTS", std::to_string(o.max_restarts)},
      {"TORCHELASTIC_USE_AGENT_STORE", "True"},
  };
  if (!secret.empty()) facts.emplace_back("CRESSET_DIST_SECRET", secret);
  if (o.processes > 1 && !std::getenv("OMP_NUM_THREADS")) facts.emplace_back("OMP_NUM_THREADS", "1");
  std::vector<std::string> all;
  for (char** entry = environ; *entry; entry++) {
    const std::string text = *entry, name = text.substr(0, text.find('='));
    if (std::none_of(facts.begin(), facts.end(), [&](const auto& f) { return f.first == name; })) all.push_back(text);
  }
  for (const auto& [name, value] : facts) all.push_back(name + "=" + value);
  return all;
}

int opened(const LaunchOptions& o, int restarts, int local, const char* name) {
  std::string path = o.log_folder;
  mkdir(path.c_str(), 0755);
  for (const std::string& part : {o.run_id, str("attempt_", restarts), std::to_string(local)}) {
    path += "/" + part;
    mkdir(path.c_str(), 0755);
  }
  path += str("/", name);
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  CRESSET_CHECK(fd >= 0, "cresset-run: cannot write '", path, "': ", std::strerror(errno));
  return fd;
}

pid_t started(const LaunchOptions& o, const Place& place, int local, const std::string& secret) {
  const std::vector<std::string> environment = environment_of(o, place, local, secret);
  std::vector<char*> arguments, variables;
  for (const std::string& a : o.command) arguments.push_back(const_cast<char*>(a.c_str()));
  for (const std::string& v : environment) variables.push_back(const_cast<char*>(v.c_str()));
  arguments.push_back(nullptr);
  variables.push_back(nullptr);
  const int out = o.log_folder.empty() ? -1 : opened(o, place.restarts, local, "stdout.log"),
            err = out < 0 ? -1 : opened(o, place.restarts, local, "stderr.log");
  const pid_t launcher = getpid(), pid = fork();
  CRESSET_CHECK(pid >= 0, "cresset-run: fork failed: ", std::strerror(errno));
  if (pid == 0) {
    // So that the process ends with its launcher, even if that is killed.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher) _exit(1);
    if (out >= 0) dup2(out, 1);
    if (err >= 0) dup2(err, 2);
    execvpe(arguments[0], arguments.data(), variables.data());
    dprintf(2, "cresset-run: cannot start '%s': %s\n", arguments[0], std::strerror(errno));
    _exit(127);
  }
  if (out >= 0) close(out);
  if (err >= 0) close(err);
  return pid;
}

void end_all(std::vector<pid_t>& processes, int number) {
  for (const pid_t pid : processes) {
    if (pid <= 0) continue;
    kill(pid, number);
    kill(pid, SIGCONT);  // one that stands still gets the other signal then
  }
  const auto end = std::chrono::steady_clock::now() + kGrace;
  for (pid_t& pid : processes) {
    while (pid > 0 && waitpid(pid, nullptr, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() >= end) kill(pid, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    pid = 0;
  }
}

// Notes which processes stand still, as waitpid tells.
class StandStill {
 public:
  StandStill(size_t processes, std::chrono::milliseconds limit) : since_(processes), limit_(limit) {}
  void note(size_t process, int status) {
    if (WIFSTOPPED(status)) since_[process] = std::chrono::steady_clock::now();
    else since_[process].reset();
  }
  bool too_long(size_t process) const { return limit_.count() > 0 && since_[process] && std::chrono::steady_clock::now() - *since_[process] > limit_; }

 private:
  std::vector<std::optional<std::chrono::steady_clock::time_point>> since_;
  std::chrono::milliseconds limit_;
};

// One life of the job; `cut` ends it early.
LaunchResult run_once(const LaunchOptions& o, const Place& place, const std::string& secret, const std::function<bool()>& cut = {}) {
  std::vector<pid_t> processes;
  for (int local = 0; local < o.processes; local++) processes.push_back(started(o, place, local, secret));
  LaunchResult result;
  result.restarts = place.restarts;
  StandStill still(processes.size(), o.stopped_limit);
  for (int running = o.processes; running > 0 && !told_to_end;) {
    for (int local = 0; local < o.processes; local++) {
      int status = 0;
      pid_t& pid = processes[static_cast<size_t>(local)];
      if (pid <= 0) continue;
      if (result.failed_rank < 0 && still.too_long(static_cast<size_t>(local))) {
        result.failed_rank = local;
        result.exit_code = -SIGSTOP;
      }
      if (waitpid(pid, &status, WNOHANG | WUNTRACED | WCONTINUED) != pid) continue;
      still.note(static_cast<size_t>(local), status);
      if (WIFSTOPPED(status) || WIFCONTINUED(status)) continue;
      pid = 0;
      running--;
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
      if (code == 0 || result.failed_rank >= 0) continue;
      result.failed_rank = local;
      result.exit_code = code;
    }
    if (result.failed_rank >= 0 || (running > 0 && cut && cut())) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  end_all(processes, told_to_end ? told_to_end : SIGTERM);
  return result;
}

LaunchResult launch_static(const LaunchOptions& o, const std::string& secret) {
  CRESSET_CHECK_VALUE(o.node_rank >= 0 && o.node_rank < o.nodes, "cresset-run: expected --node-rank in [0, ", o.nodes, "), got ", o.node_rank);
  intrusive_ptr<TCPStore> store;
  if (o.node_rank == 0) {
    TCPStoreOptions s;
    s.port = o.master_port;
    s.isServer = true;
    store = make_intrusive<TCPStore>(o.master_address, s);
  }
  Place place{o.node_rank, o.nodes, o.node_rank * o.processes, o.nodes * o.processes, 0, o.master_address, store ? store->getPort() : o.master_port};
  for (;; place.restarts++) {
    const LaunchResult result = run_once(o, place, secret);
    if (result.failed_rank < 0 || told_to_end || place.restarts == o.max_restarts) return result;
  }
}

// ---- nodes that come and go ----------------------------------------------------------------------------------------------

constexpr auto kLook = std::chrono::milliseconds(200);
constexpr auto kShort = std::chrono::milliseconds(20);
constexpr auto kSlow = std::chrono::seconds(10);
constexpr auto kStoreTimeout = std::chrono::minutes(1);  // of a store in a launcher that may be stopped, as in Python

// The place of this node, which all nodes of a round find together; the first of them serves the store of the processes. Errors: DistStoreError where a
// node has gone since the round began.
Place place_in(const Round& round, const LaunchOptions& o, int restarts, intrusive_ptr<TCPStore>& served) {
  round.store->set(str("node ", round.rank), str(o.processes, " ", restarts));
  const std::chrono::milliseconds time = o.rounds.beat * o.rounds.missed_beats + kSlow;
  served = nullptr;
  ProcessStore processes = process_store(round, round.store->ownHost(), time);
  served = std::move(processes.served);
  std::vector<std::string> all;
  for (int node = 0; node < round.size; node++) all.push_back(str("node ", node));
  round.store->wait(all, time);
  Place place;
  place.master_address = processes.host;
  place.master_port = processes.port;
  place.node = round.rank;
  place.nodes = round.size;
  place.size = 0;
  for (int node = 0; node < round.size; node++) {
    std::istringstream said(round.store->get_to_str(str("node ", node)));
    int here = 0, count = 0;
    said >> here >> count;
    if (node == round.rank) place.first_rank = place.size;
    place.size += here;
    place.restarts = std::max(place.restarts, count);
  }
  return place;
}

// Waits for the processes of the other nodes; how many nodes have been lost meanwhile, or none where one begins again, and this node with it.
std::optional<int> ended_together(const Round& round, Rendezvous& rendezvous, std::chrono::milliseconds life) {
  bool again = false;
  EndOptions o;
  o.life = life;
  o.warn = [](const std::string& text) { warn(text); };
  o.stop = [&] { return told_to_end || (again = rendezvous.beginning_again() > 0) || rendezvous.closed(); };
  const int lost = end_together(round, o);
  return again ? std::nullopt : std::optional(lost);
}

// Says that this node leaves; the one with a store does so when all others that are left have, or have had the time for it.
void leave(const Round& round, bool serves, int lost) {
  try {
    const intrusive_ptr<Store> store = brief(round.store);
    store->add("left", 1);
    for (const Deadline end = after(kSlow); serves && store->add("left", 0) < round.size - lost && std::chrono::steady_clock::now() < end && !told_to_end;)
      std::this_thread::sleep_for(kShort);
  } catch (const DistError&) {}
}

LaunchResult launch_elastic(const LaunchOptions& o, const std::string& secret) {
  CRESSET_CHECK_VALUE(o.rendezvous == "c10d" || o.rendezvous == "etcd", "cresset-run: expected --rdzv-backend static, c10d or etcd, got '", o.rendezvous, "'");
  RendezvousOptions rounds = o.rounds;
  rounds.run_id = o.run_id;
  rounds.min_nodes = o.nodes;
  rounds.max_nodes = o.max_nodes == 0 ? o.nodes : o.max_nodes;
  rounds.connect_timeout = rounds.join_timeout;
  std::shared_ptr<Endpoints> endpoints;
  if (o.rendezvous == "c10d") {
    endpoints = std::make_shared<Endpoints>(parse_endpoints(o.endpoints));
    endpoints->set_store_timeout(kStoreTimeout);
  }
  EtcdStoreOptions etcd;
  etcd.endpoints = o.endpoints;
  etcd.life = std::chrono::hours(2);
  Rendezvous rendezvous(endpoints ? connect_at(endpoints) : connect_at(etcd), rounds);
  intrusive_ptr<TCPStore> served;
  for (int restarts = 0;;) {
    const Round round = rendezvous.next([] { return told_to_end != 0; });
    Place place;
    try {
      place = place_in(round, o, restarts, served);
    } catch (const DistStoreError&) { continue; } catch (const DistNetworkError&) {
      continue;
    }  // on with a round of those that are left
    restarts = place.restarts;
    const bool serves = round.rank == 0 || (endpoints && endpoints->own() == endpoints->in_charge());
    auto next_look = std::chrono::steady_clock::now() + kLook;
    bool called = false, closed = false;
    LaunchResult result = run_once(o, place, secret, [&] {
      if (std::chrono::steady_clock::now() < next_look) return false;
      closed = rendezvous.closed();
      called = !closed && rendezvous.waiting() > 0;
      next_look = std::chrono::steady_clock::now() + kLook;
      return closed || called;
    });
    if (told_to_end) return result;
    const bool failed = result.failed_rank >= 0;
    if (!failed && !called && !closed) {
      const std::optional<int> lost = ended_together(round, rendezvous, rounds.life());
      if (!lost) continue;
      if (round.rank == 0) rendezvous.close();
      leave(round, serves, *lost);
      return result;
    }
    if (closed || (failed && restarts++ == o.max_restarts)) {
      rendezvous.close();
      leave(round, serves, 0);
      CRESSET_CHECK_AS(RendezvousClosedError, failed, "cresset-run: another node has ended the job '", o.run_id, "' after a failure");
      return result;
    }
  }
}

}  // namespace

LaunchResult launch(const LaunchOptions& o) {
  CRESSET_CHECK_VALUE(!o.command.empty(), "cresset-run: expected a program to run");
  CRESSET_CHECK_VALUE(o.processes > 0 && o.nodes > 0, "cresset-run: expected at least one process and one machine, got ", o.processes, " and ", o.nodes);
  std::string secret = job_secret();
  if (secret.empty() && o.nodes == 1 && o.max_nodes <= 1) {
    secret = random_secret();
    setenv("CRESSET_DIST_SECRET", secret.c_str(), 1);
  }
  const Signals signals;
  told_to_end = 0;
  LaunchResult result;
  try {
    result = o.rendezvous == "static" ? launch_static(o, secret) : launch_elastic(o, secret);
  } catch (const RendezvousClosedError&) {
    if (!told_to_end) throw;
  }
  if (told_to_end) result = {0, -static_cast<int>(told_to_end), result.restarts};
  return result;
}

LaunchOptions parse_launch_options(const std::vector<std::string>& arguments) {
  LaunchOptions o;
  size_t i = 0;
  auto number = [&](const std::string& name, const std::string& text, long least, long most) {
    char* end = nullptr;
    const long n = std::strtol(text.c_str(), &end, 10);
    CRESSET_CHECK_VALUE(!text.empty() && *end == '\0' && n >= least && n <= most, "cresset-run: expected ", name, " in [", least, ", ", most, "], got '", text,
                        "'");
    return static_cast<int>(n);
  };
  for (; i < arguments.size() && arguments[i].rfind("--", 0) == 0; i++) {
    const size_t equals = arguments[i].find('=');
    std::string name = arguments[i].substr(0, equals);
    std::replace(name.begin() + 2, name.end(), '_', '-');
    if (name == "--standalone") {
      o.master_port = 0;
      o.nodes = 1;
      continue;
    }
    CRESSET_CHECK_VALUE(equals != std::string::npos || i + 1 < arguments.size(), "cresset-run: ", name, " wants a value");
    const std::string value = equals != std::string::npos ? arguments[i].substr(equals + 1) : arguments[++i];
    if (name == "--nproc-per-node")
      o.processes = value == "cpu" || value == "auto" ? static_cast<int>(std::thread::hardware_concurrency()) : number(name, value, 1, 1 << 15);
    else if (name == "--nnodes") {
      const size_t colon = value.find(':');
      o.nodes = number(name, value.substr(0, colon), 1, 1 << 15);
      o.max_nodes = colon == std::string::npos ? o.nodes : number(name, value.substr(colon + 1), o.nodes, 1 << 15);
    } else if (name == "--rdzv-backend") o.rendezvous = value == "etcd-v2" ? "etcd" : value;
    else if (name == "--rdzv-endpoint") o.endpoints = value;
    else if (name == "--rdzv-conf") {
      std::istringstream pairs(value);
      for (std::string pair; std::getline(pairs, pair, ',');) {
        const size_t equals_sign = pair.find('=');
        const std::string what = pair.substr(0, equals_sign), text = equals_sign == std::string::npos ? "" : pair.substr(equals_sign + 1);
        auto seconds = [&] { return std::chrono::seconds(number("--rdzv-conf " + what, text, 0, 1 << 20)); };
        if (what == "join_timeout" || what == "timeout") o.rounds.join_timeout = seconds();
        else if (what == "last_call_timeout") o.rounds.last_call = seconds();
        else if (what == "keep_alive_interval") o.rounds.beat = seconds();
        else if (what == "keep_alive_max_attempt") o.rounds.missed_beats = number("--rdzv-conf " + what, text, 1, 1 << 20);
        else
          throw ValueError(
              str("cresset-run: expected --rdzv-conf with join_timeout, last_call_timeout, keep_alive_interval or keep_alive_max_attempt, got '", pair, "'"));
      }
    } else if (name == "--node-rank") o.node_rank = number(name, value, 0, 1 << 15);
    else if (name == "--master-addr") o.master_address = value;
    else if (name == "--master-port") o.master_port = static_cast<uint16_t>(number(name, value, 0, 65535));
    else if (name == "--max-restarts") o.max_restarts = number(name, value, 0, 1 << 20);
    else if (name == "--rdzv-id") o.run_id = value;
    else if (name == "--log-dir") o.log_folder = value;
    else if (name == "--stopped-timeout") o.stopped_limit = std::chrono::seconds(number(name, value, 0, 1 << 30));
    else throw ValueError(str("cresset-run: unknown option ", name));
  }
  CRESSET_CHECK_VALUE(o.rendezvous != "static" || o.max_nodes <= o.nodes, "cresset-run: --nnodes ", o.nodes, ":", o.max_nodes,
                      " wants --rdzv-backend c10d or etcd; static nodes are a fixed number");
  CRESSET_CHECK_VALUE(o.rendezvous == "static" || !o.endpoints.empty(), "cresset-run: --rdzv-backend ", o.rendezvous, " wants --rdzv-endpoint host:port");
  o.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
  CRESSET_CHECK_VALUE(!o.command.empty(), "cresset-run: expected a program to run");
  return o;
}

}  // namespace cresset::distributed
