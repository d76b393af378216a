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
#include <thread>

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

std::vector<std::string> environment_of(const LaunchOptions& o, int local, int restarts, uint16_t port, const std::string& secret) {
  const int rank = o.node_rank * o.processes + local, size = o.nodes * o.processes;
  std::vector<std::pair<std::string, std::string>> facts = {
      {"RANK", std::to_string(rank)},
      {"LOCAL_RANK", std::to_string(local)},
      {"WORLD_SIZE", std::to_string(size)},
      {"LOCAL_WORLD_SIZE", std::to_string(o.processes)},
      {"GROUP_RANK", std::to_string(o.node_rank)},
      {"GROUP_WORLD_SIZE", std::to_string(o.nodes)},
      {"ROLE_RANK", std::to_string(rank)},
      {"ROLE_NAME", "default"},
      {"ROLE_WORLD_SIZE", std::to_string(size)},
      {"MASTER_ADDR", o.master_address},
      {"MASTER_PORT", std::to_string(port)},
      {"TORCHELASTIC_RUN_ID", o.run_id},
      {"TORCHELASTIC_RESTART_COUNT", std::to_string(restarts)},
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

pid_t started(const LaunchOptions& o, int local, int restarts, uint16_t port, const std::string& secret) {
  const std::vector<std::string> environment = environment_of(o, local, restarts, port, secret);
  std::vector<char*> arguments, variables;
  for (const std::string& a : o.command) arguments.push_back(const_cast<char*>(a.c_str()));
  for (const std::string& v : environment) variables.push_back(const_cast<char*>(v.c_str()));
  arguments.push_back(nullptr);
  variables.push_back(nullptr);
  const int out = o.log_folder.empty() ? -1 : opened(o, restarts, local, "stdout.log"), err = out < 0 ? -1 : opened(o, restarts, local, "stderr.log");
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
  for (const pid_t pid : processes)
    if (pid > 0) kill(pid, number);
  const auto end = std::chrono::steady_clock::now() + kGrace;
  for (pid_t& pid : processes) {
    while (pid > 0 && waitpid(pid, nullptr, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() >= end) kill(pid, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    pid = 0;
  }
}

// One life of the job.
LaunchResult run_once(const LaunchOptions& o, int restarts, uint16_t port, const std::string& secret) {
  std::vector<pid_t> processes;
  for (int local = 0; local < o.processes; local++) processes.push_back(started(o, local, restarts, port, secret));
  LaunchResult result;
  result.restarts = restarts;
  for (int running = o.processes; running > 0 && !told_to_end;) {
    for (int local = 0; local < o.processes; local++) {
      int status = 0;
      pid_t& pid = processes[static_cast<size_t>(local)];
      if (pid <= 0 || waitpid(pid, &status, WNOHANG) != pid) continue;
      pid = 0;
      running--;
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
      if (code == 0 || result.failed_rank >= 0) continue;
      result.failed_rank = local;
      result.exit_code = code;
    }
    if (result.failed_rank >= 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  end_all(processes, told_to_end ? told_to_end : SIGTERM);
  return result;
}

}  // namespace

LaunchResult launch(const LaunchOptions& options) {
  LaunchOptions o = options;
  CRESSET_CHECK_VALUE(!o.command.empty(), "cresset-run: expected a program to run");
  CRESSET_CHECK_VALUE(o.processes > 0 && o.nodes > 0, "cresset-run: expected at least one process and one machine, got ", o.processes, " and ", o.nodes);
  CRESSET_CHECK_VALUE(o.node_rank >= 0 && o.node_rank < o.nodes, "cresset-run: expected --node-rank in [0, ", o.nodes, "), got ", o.node_rank);
  std::string secret = job_secret();
  if (secret.empty() && o.nodes == 1) {
    secret = random_secret();
    setenv("CRESSET_DIST_SECRET", secret.c_str(), 1);
  }
  intrusive_ptr<TCPStore> store;
  if (o.node_rank == 0) {
    TCPStoreOptions s;
    s.port = o.master_port;
    s.isServer = true;
    store = make_intrusive<TCPStore>(o.master_address, s);
  }
  const uint16_t port = store ? store->getPort() : o.master_port;
  const Signals signals;
  told_to_end = 0;
  LaunchResult result;
  for (int restarts = 0; restarts <= o.max_restarts; restarts++) {
    result = run_once(o, restarts, port, secret);
    if (result.failed_rank < 0 || told_to_end) break;
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
    else if (name == "--nnodes") o.nodes = number(name, value, 1, 1 << 15);
    else if (name == "--node-rank") o.node_rank = number(name, value, 0, 1 << 15);
    else if (name == "--master-addr") o.master_address = value;
    else if (name == "--master-port") o.master_port = static_cast<uint16_t>(number(name, value, 0, 65535));
    else if (name == "--max-restarts") o.max_restarts = number(name, value, 0, 1 << 20);
    else if (name == "--rdzv-id") o.run_id = value;
    else if (name == "--log-dir") o.log_folder = value;
    else throw ValueError(str("cresset-run: unknown option ", name));
  }
  o.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
  CRESSET_CHECK_VALUE(!o.command.empty(), "cresset-run: expected a program to run");
  return o;
}

}  // namespace cresset::distributed
