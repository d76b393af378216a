// The launcher of C++ programs: places, failures, restarts, options.

#include "cresset/dist/elastic/launcher.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <thread>

#include "cresset/dist/elastic/environment.h"
#include "error_of.h"

namespace cresset::distributed {
namespace {

std::string folder() {
  static int count = 0;
  const std::string path = ::testing::TempDir() + "launch_" + std::to_string(getpid()) + "_" + std::to_string(count++);
  std::system(("mkdir -p " + path).c_str());
  return path;
}
std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}
LaunchOptions shell(const std::string& script) {
  LaunchOptions o;
  o.processes = 2;
  o.master_port = 0;
  o.command = {"/bin/sh", "-c", script};
  return o;
}

TEST(Launcher, GivesEachProcessItsPlace) {
  LaunchOptions o = shell("echo $RANK $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR $TORCHELASTIC_RUN_ID ${#CRESSET_DIST_SECRET}");
  o.log_folder = folder();
  o.run_id = "job";
  EXPECT_EQ(launch(o).failed_rank, -1);
  EXPECT_EQ(text_of(o.log_folder + "/job/attempt_0/1/stdout.log"), "1 1 2 127.0.0.1 job 32\n");
}

TEST(Launcher, OneFailureEndsAll) {
  const auto before = std::chrono::steady_clock::now();
  const LaunchResult code = launch(shell("[ $RANK = 1 ] && exit 7; sleep 30"));
  EXPECT_EQ(code.failed_rank, 1);
  EXPECT_EQ(code.exit_code, 7);
  const LaunchResult signal = launch(shell("[ $RANK = 0 ] && kill -9 $$; sleep 30"));
  EXPECT_EQ(signal.failed_rank, 0);
  EXPECT_EQ(signal.exit_code, -SIGKILL);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(20));
}

TEST(Launcher, AProcessThatStandsStillHasFailed) {
  LaunchOptions o = shell("[ $TORCHELASTIC_RESTART_COUNT$RANK = 01 ] && kill -STOP $$; sleep 1");
  o.stopped_limit = std::chrono::milliseconds(200);
  const auto before = std::chrono::steady_clock::now();
  LaunchResult result = launch(o);
  EXPECT_EQ(result.failed_rank, 1);
  EXPECT_EQ(result.exit_code, -SIGSTOP);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(900));
  o.max_restarts = 1;
  result = launch(o);
  EXPECT_EQ(result.failed_rank, -1);
  EXPECT_EQ(result.restarts, 1);
  // One that goes on in time has not.
  o = shell("[ $RANK = 1 ] && { (sleep 0.2; kill -CONT $$) & kill -STOP $$; }; sleep 0.8");
  o.stopped_limit = std::chrono::milliseconds(500);
  EXPECT_EQ(launch(o).failed_rank, -1);
}

TEST(Launcher, BeginsAgain) {
  LaunchOptions o = shell("[ $TORCHELASTIC_RESTART_COUNT = 2 ]");
  o.max_restarts = 3;
  const LaunchResult result = launch(o);
  EXPECT_EQ(result.failed_rank, -1);
  EXPECT_EQ(result.restarts, 2);
}

TEST(Launcher, PassesSignalsOn) {
  for (const int number : {SIGTERM, SIGINT}) {
    const std::string path = folder() + "/said";
    const char* const name = number == SIGTERM ? "TERM" : "INT";
    const pid_t launcher = fork();
    if (launcher == 0) {
      const LaunchResult result =
          launch(shell(str("trap 'echo told $RANK ", name, " >> ", path, "; exit 0' ", name, "; echo begun >> ", path, "; while true; do sleep 0.02; done")));
      _exit(result.exit_code == -number ? 7 : 1);
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (text_of(path) != "begun\nbegun\n" && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    kill(launcher, number);
    int status = 0;
    waitpid(launcher, &status, 0);
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 7);
    const std::string said = text_of(path);
    for (const int rank : {0, 1}) EXPECT_NE(said.find(str("told ", rank, " ", name)), std::string::npos) << said;
  }
}

TEST(Launcher, ReadsItsOptions) {
  const LaunchOptions o =
      parse_launch_options({"--nproc_per_node=4", "--max-restarts", "2", "--standalone", "--stopped-timeout", "7", "./train", "--nnodes", "9"});
  EXPECT_EQ(o.processes, 4);
  EXPECT_EQ(o.stopped_limit, std::chrono::seconds(7));
  EXPECT_EQ(o.max_restarts, 2);
  EXPECT_EQ(o.master_port, 0);
  EXPECT_EQ(o.command, (std::vector<std::string>{"./train", "--nnodes", "9"}));
  EXPECT_NE(error_of([] { parse_launch_options({"--nproc-per-node", "0", "x"}); }).find("expected --nproc-per-node in [1, 32768], got '0'"), std::string::npos);
  EXPECT_NE(error_of([] { parse_launch_options({"--what", "0", "x"}); }).find("unknown option --what"), std::string::npos);
  EXPECT_NE(error_of([] { parse_launch_options({"--standalone"}); }).find("expected a program"), std::string::npos);
}

TEST(Environment, NamesTheVariableThatIsMissing) {
  unsetenv("RANK");
  setenv("WORLD_SIZE", "2", 1);
  EXPECT_NE(error_of([] { Environment::read(); }).find("variable RANK is missing"), std::string::npos);
  setenv("RANK", "2", 1);
  EXPECT_NE(error_of([] { Environment::read(); }).find("expected RANK in [0, 1], got '2'"), std::string::npos);
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
}

}  // namespace
}  // namespace cresset::distributed
