// Launchers of nodes that come and go: endpoints, rounds, restarts, the loss of the store's host. Each node is a process of `cresset-run`, or a thread.

#include "cresset/dist/elastic/rendezvous.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <future>
#include <utility>

#include "cresset/dist/elastic/endpoints.h"
#include "cresset/dist/elastic/launcher.h"
#include "cresset/dist/transport/socket.h"
#include "error_of.h"

namespace cresset::distributed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

RendezvousOptions fast(int least, int most) {
  RendezvousOptions o;
  o.min_nodes = least;
  o.max_nodes = most;
  o.join_timeout = seconds(60);
  o.last_call = milliseconds(100);
  o.beat = milliseconds(100);
  o.missed_beats = 20;
  return o;
}

uint16_t free_port() { return Socket::listen("127.0.0.1", 0).local_port(); }

TEST(Endpoints, AreReadFromText) {
  const auto found = parse_endpoints("first:29500,second");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].host + " " + std::to_string(found[0].port), "first 29500");
  EXPECT_EQ(found[1].host + " " + std::to_string(found[1].port), "second 29400");
  EXPECT_NE(error_of([] { parse_endpoints("a:b"); }).find("expected host:port, got 'a:b'"), std::string::npos);
  EXPECT_NE(error_of([] { parse_endpoints(""); }).find("expected endpoints"), std::string::npos);
}

TEST(Endpoints, TheNextTakesChargeWhenTheFirstIsLost) {
  const std::vector<Endpoint> list = {{"127.0.0.1", free_port()}, {"127.0.0.1", free_port()}};
  auto first = std::make_unique<Endpoints>(list, milliseconds(500));
  Endpoints second(list, milliseconds(500)), third(list, milliseconds(500));
  EXPECT_EQ(first->own(), 0);
  EXPECT_EQ(second.own(), 1);
  EXPECT_EQ(third.own(), -1);
  auto other = std::async(std::launch::async, [&] { return second.connect(seconds(60)); });
  auto store = first->connect(seconds(60));
  store->set("key", std::string("value"));
  EXPECT_EQ(other.get()->get_to_str("key"), "value");
  EXPECT_EQ(second.in_charge(), 0);
  store = nullptr;
  first = nullptr;
  auto next = second.connect(seconds(60));
  EXPECT_EQ(second.in_charge(), 1);
  EXPECT_FALSE(next->check({"key"}));
  EXPECT_EQ(third.connect(seconds(60))->getNumKeys(), next->getNumKeys());
  // One that comes back finds the store in charge and does not begin another.
  Endpoints back(list, milliseconds(500));
  EXPECT_EQ(back.own(), 0);
  back.connect(seconds(60));
  EXPECT_EQ(back.in_charge(), 1);
}

TEST(Endpoints, OfOtherMachinesAreWaitedForNoLongerThanAsked) {
  Endpoints none({{"192.0.2.1", 29400}}, milliseconds(50));  // an address that documentation has, and no machine
  EXPECT_EQ(none.own(), -1);
  EXPECT_NE(error_of([&] { none.connect(milliseconds(100)); }).find("has a store in charge after 100 ms"), std::string::npos);
}

TEST(Endpoints, AStoreThatIsStoppedAnswersNoLongerThanAsked) {
  const std::vector<Endpoint> list = {{"127.0.0.1", free_port()}};
  const pid_t host = fork();
  if (host == 0) {
    Endpoints serves(list, milliseconds(500), true);
    serves.connect(seconds(60));
    for (;;) pause();
  }
  Endpoints other(list, milliseconds(500), false);
  other.set_store_timeout(milliseconds(300));
  const auto store = other.connect(seconds(60));
  store->set("key", std::string("value"));
  kill(host, SIGSTOP);
  waitpid(host, nullptr, WUNTRACED);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_THROW(store->set("key", std::string("other")), DistNetworkError);
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(20));
  kill(host, SIGKILL);
  waitpid(host, nullptr, 0);
}

TEST(Endpoints, ServeAsTheyAreTold) {
  const uint16_t port = free_port();
  const std::vector<Endpoint> list = {{"127.0.0.1", port}};
  Endpoints never(list, milliseconds(50), false);
  EXPECT_EQ(never.own(), -1);
  EXPECT_NE(error_of([&] { never.connect(milliseconds(100)); }).find("has a store in charge"), std::string::npos);
  EXPECT_EQ(never.own(), -1);
  Endpoints serves(list, milliseconds(50), true);
  EXPECT_EQ(serves.own(), 0);
  serves.connect(seconds(60));
  never.connect(seconds(60));
  EXPECT_NE(error_of([&] { Endpoints second(list, milliseconds(50), true); }).find("is to serve and cannot: "), std::string::npos);
}

TEST(Rendezvous, GivesRanksAndLetsInThoseWhoCome) {
  const auto store = make_intrusive<HashStore>();
  auto node = [&] { return std::make_unique<Rendezvous>([&](milliseconds) { return store->clone(); }, fast(2, 3)); };
  auto a = node(), b = node(), c = node();
  auto first = std::async(std::launch::async, [&] { return a->next(); });
  const Round second = b->next();
  const Round of_a = first.get();
  EXPECT_EQ(of_a.size, 2);
  EXPECT_EQ(of_a.rank + second.rank, 1);
  EXPECT_EQ(a->waiting(), 0);
  auto third = std::async(std::launch::async, [&] { return c->next(); });
  while (a->waiting() == 0) std::this_thread::sleep_for(milliseconds(5));
  first = std::async(std::launch::async, [&] { return a->next(); });
  EXPECT_EQ(b->next().size, 3);
  EXPECT_EQ(first.get().size, 3);
  EXPECT_EQ(third.get().size, 3);
  // A full round has no room; one of its own nodes that begins again is seen.
  EXPECT_EQ(a->waiting(), 0);
  third = std::async(std::launch::async, [&] { return c->next(); });
  while (a->waiting() == 0) std::this_thread::sleep_for(milliseconds(5));
  a->close();
  EXPECT_NE(error_of([&] { third.get(); }).find("has ended"), std::string::npos);
}

TEST(Rendezvous, NamesHowManyHaveCome) {
  RendezvousOptions o = fast(2, 2);
  o.join_timeout = milliseconds(200);
  Rendezvous alone([](milliseconds) { return make_intrusive<HashStore>(); }, o);
  EXPECT_NE(error_of([&] { alone.next(); }).find("1 nodes of at least 2 have come within 200 ms"), std::string::npos);
  EXPECT_NE(error_of([&] { Rendezvous wrong([](milliseconds) { return make_intrusive<HashStore>(); }, fast(3, 2)); }).find("got 3 and 2"), std::string::npos);
}

TEST(Rendezvous, ReadsNothingElseAsARound) {
  const auto store = make_intrusive<HashStore>();
  Rendezvous node([&](milliseconds) { return store; }, fast(1, 1));
  store->set("cresset.rendezvous.cresset-run.none/0/final", std::string("1,other"));
  EXPECT_NE(error_of([&] { node.next(); }).find("expected numbers of nodes in the store, got '1,other'"), std::string::npos);
}

TEST(Rendezvous, LaunchersOfOneNameMeet) {
  const auto store = make_intrusive<HashStore>();
  RendezvousOptions o = fast(1, 2);
  Rendezvous a([&](milliseconds) { return store; }, o);
  o.launcher = "another";
  Rendezvous b([&](milliseconds) { return store; }, o);
  auto first = std::async(std::launch::async, [&] { return a.next(); });
  EXPECT_EQ(b.next().size, 1);
  EXPECT_EQ(first.get().size, 1);
}

TEST(Rendezvous, TheFirstNodeServesTheProcesses) {
  const auto store = make_intrusive<HashStore>();
  auto other = std::async(std::launch::async, [&] { return process_store({1, 2, store}, "127.0.0.1", seconds(60)); });
  const ProcessStore first = process_store({0, 2, store}, "127.0.0.1", seconds(60)), second = other.get();
  EXPECT_TRUE(first.served && !second.served);
  EXPECT_EQ(str(second.host, ":", second.port), str("127.0.0.1:", first.served->getPort()));
  const auto empty = make_intrusive<HashStore>();
  EXPECT_NE(error_of([&] { process_store({1, 2, empty}, "127.0.0.1", milliseconds(50)); }).find("master"), std::string::npos);
}

// The wait of node 0 of two at the end of a round: what it warned about, and whether it ended well before its timeout of a minute.
struct Wait {
  std::string warning;
  bool early = false;
  int lost = 0;
};
Wait wait_of_first(const intrusive_ptr<Store>& store, milliseconds life, milliseconds timeout = seconds(60), const std::function<bool()>& stop = {}) {
  Wait found;
  EndOptions o;
  o.life = life;
  o.timeout = timeout;
  o.warn = [&](const std::string& text) { found.warning += text + "\n"; };
  o.stop = stop;
  const auto began = std::chrono::steady_clock::now();
  found.lost = end_together({0, 2, store}, o);
  found.early = std::chrono::steady_clock::now() - began < seconds(30);
  return found;
}

TEST(EndOfRound, IsReachedByAllNodesTogether) {
  const auto store = make_intrusive<HashStore>();
  const Round second{1, 2, store};
  const auto heart = show_life(second, milliseconds(20));
  auto first = std::async(std::launch::async, [&] { return wait_of_first(store, milliseconds(1000)); });
  EXPECT_EQ(first.wait_for(milliseconds(1500)), std::future_status::timeout);  // the other lives and has not ended
  EXPECT_EQ(end_together(second, {}), 0);
  const Wait wait = first.get();
  EXPECT_TRUE(wait.early);
  EXPECT_EQ(wait.warning, "");
}

TEST(EndOfRound, ANodeWhoseHeartStandsStillIsNamedAndNotWaitedFor) {
  const auto store = make_intrusive<HashStore>();
  auto heart = show_life({1, 2, store}, milliseconds(20));
  std::this_thread::sleep_for(milliseconds(100));
  heart = nullptr;
  const Wait wait = wait_of_first(store, milliseconds(300));
  EXPECT_TRUE(wait.early);
  EXPECT_EQ(wait.lost, 1);
  EXPECT_EQ(wait.warning, str("rendezvous: no sign of life for 300 ms from node 1 (127.0.0.1, process ", getpid(), "); the job ends without it\n"));
}

TEST(EndOfRound, OnesThatLiveAreWaitedForUpToTheTimeout) {
  const auto store = make_intrusive<HashStore>();
  const auto heart = show_life({1, 2, store}, milliseconds(20));
  EXPECT_NE(wait_of_first(store, milliseconds(1000), milliseconds(1500)).warning.find("still running after 1500 ms: node 1 (127.0.0.1"), std::string::npos);
  // So is one of a kind of rendezvous that has no hearts.
  const auto silent = make_intrusive<HashStore>();
  EXPECT_EQ(wait_of_first(silent, milliseconds(100), milliseconds(300)).warning, "rendezvous: still running after 300 ms: node 1; this node ends without it\n");
}

TEST(EndOfRound, ANodeThatBeginsAgainIsNotCountedAsGone) {
  const auto store = make_intrusive<HashStore>();
  auto node = [&] { return std::make_unique<Rendezvous>([&](milliseconds) { return store->clone(); }, fast(2, 2)); };
  auto a = node(), b = node();
  auto other = std::async(std::launch::async, [&] { return b->next(); });
  const Round of_a = a->next();
  other.get();
  auto again = std::async(std::launch::async, [&] { return b->next(); });
  while (a->beginning_again() == 0) std::this_thread::sleep_for(milliseconds(5));
  EndOptions o;
  o.life = milliseconds(100);
  o.timeout = milliseconds(500);
  std::string warning;
  o.warn = [&](const std::string& text) { warning += text; };
  end_together(of_a, o);
  EXPECT_NE(warning.find("still running after 500 ms"), std::string::npos) << warning;
  a->next();
  again.get();
}

TEST(EndOfRound, IsLeftWhereTheCallerSaysSo) {
  const auto store = make_intrusive<HashStore>();
  EXPECT_EQ(wait_of_first(store, milliseconds(100), seconds(60), [] { return true; }).warning, "");
}

TEST(EndOfRound, AStoreThatIsSilentOrGoneEndsTheWait) {
  const uint16_t port = free_port();
  const pid_t host = fork();
  if (host == 0) {
    TCPStoreOptions o;
    o.port = port;
    o.isServer = true;
    TCPStore serves("127.0.0.1", o);
    for (;;) pause();
  }
  TCPStoreOptions o;
  o.port = port;
  const auto store = make_intrusive<TCPStore>("127.0.0.1", o);
  kill(host, SIGSTOP);
  waitpid(host, nullptr, WUNTRACED);
  Wait wait = wait_of_first(store, milliseconds(500));
  EXPECT_TRUE(wait.early);
  EXPECT_NE(wait.warning.find(str("from the node with the store; this node ends without it: dist: receiving from the store at 127.0.0.1:", port)),
            std::string::npos)
      << wait.warning;
  kill(host, SIGKILL);
  waitpid(host, nullptr, 0);
  wait = wait_of_first(store, seconds(60));
  EXPECT_TRUE(wait.early);
  EXPECT_EQ(wait.warning, "");
}

// Asked while its processes run, which it watches in between.
TEST(Rendezvous, AStoreThatIsLateDoesNotHoldTheLauncher) {
  const uint16_t port = free_port();
  const pid_t host = fork();
  TCPStoreOptions o;
  o.port = port;
  o.isServer = host == 0;
  const auto store = make_intrusive<TCPStore>("127.0.0.1", o);
  if (host == 0)
    for (;;) pause();
  Rendezvous node([&](milliseconds) { return store->clone(); }, fast(1, 1));
  const Round round = node.next();
  EXPECT_EQ(node.waiting(), 0);
  kill(host, SIGSTOP);
  waitpid(host, nullptr, WUNTRACED);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(node.waiting(), 0);
  EXPECT_FALSE(node.closed());
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(30));
  kill(host, SIGCONT);
  // Its heart goes on when the store does.
  const int64_t beats = round.store->add("heart/0", 0);
  const auto end = std::chrono::steady_clock::now() + seconds(60);
  while (round.store->add("heart/0", 0) < beats + 3 && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_LT(std::chrono::steady_clock::now(), end);
  EXPECT_EQ(node.waiting(), 0);
  kill(host, SIGKILL);
  waitpid(host, nullptr, 0);
}

TEST(Rendezvous, GoesOnAtTheSuccessorOfALostStore) {
  const std::vector<Endpoint> list = {{"127.0.0.1", free_port()}, {"127.0.0.1", free_port()}};
  auto host = std::make_shared<Endpoints>(list, milliseconds(500));
  auto left = std::make_shared<Endpoints>(list, milliseconds(500)), other = std::make_shared<Endpoints>(list, milliseconds(500));
  const RendezvousOptions o = fast(2, 3);
  auto gone = std::make_unique<Rendezvous>(connect_at(host), o);
  Rendezvous b(connect_at(left), o), c(connect_at(other), o);
  auto of_gone = std::async(std::launch::async, [&] { return gone->next(); });
  auto of_c = std::async(std::launch::async, [&] { return c.next(); });
  EXPECT_GE(b.next().size, 2);
  of_gone.get();
  of_c.get();
  gone = nullptr;
  host = nullptr;
  of_c = std::async(std::launch::async, [&] { return c.next(); });
  EXPECT_EQ(b.next().size, 2);
  EXPECT_EQ(of_c.get().size, 2);
  EXPECT_EQ(left->in_charge(), other->in_charge());  // the second, or the first again, at which the other may serve now
}

// A node of a job, in a process of its own.
class Node {
 public:
  Node(const std::string& endpoints, const std::string& nodes, int restarts, const std::string& script, milliseconds beat = seconds(1)) {
    pid_ = fork();
    if (pid_ != 0) return;
    setenv("CRESSET_DIST_SECRET", "of the test", 1);
    LaunchOptions o = parse_launch_options({"--rdzv-backend=c10d", "--rdzv-endpoint", endpoints, "--nnodes", nodes, "--max-restarts", std::to_string(restarts),
                                            "--rdzv-conf", "last_call_timeout=1,join_timeout=60", "/bin/sh", "-c", script});
    o.rounds.beat = beat;
    int code = 2;
    try {
      code = launch(o).failed_rank < 0 ? 0 : 1;
    } catch (const Error& e) { std::fprintf(stderr, "%s\n", e.what()); }
    _exit(code);
  }
  ~Node() {
    if (pid_ > 0) end(SIGKILL);
  }
  pid_t pid() const { return pid_; }
  int wait() {
    int status = 0;
    waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  int end(int number) {
    kill(pid_, number);
    return wait();
  }

 private:
  pid_t pid_ = 0;
};

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}
bool has(const std::string& path, const std::string& line) {
  const auto lines = lines_of(path);
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

struct Elastic : ::testing::Test {
  std::string path = ::testing::TempDir() + "elastic_" + std::to_string(getpid());
  std::string endpoints = str("127.0.0.1:", free_port(), ",127.0.0.1:", free_port());
  void SetUp() override { std::remove(path.c_str()); }
  void wait_for(const std::string& line) {
    while (!has(path, line)) std::this_thread::sleep_for(milliseconds(10));
  }
};

TEST_F(Elastic, ANodeThatComesLaterIsLetIn) {
  const std::string script = "echo $RANK of $WORLD_SIZE >> " + path + "; while [ $WORLD_SIZE = 1 ]; do sleep 0.05; done";
  Node first(endpoints, "1:2", 0, script);
  wait_for("0 of 1");
  Node second(endpoints, "1:2", 0, script);
  EXPECT_EQ(second.wait(), 0);
  EXPECT_EQ(first.wait(), 0);
  EXPECT_TRUE(has(path, "0 of 2"));
  EXPECT_TRUE(has(path, "1 of 2"));
}

TEST_F(Elastic, AFailureOfOneNodeBeginsAllAgain) {
  const std::string script = "echo $RANK try $TORCHELASTIC_RESTART_COUNT >> " + path +
                             "; [ $TORCHELASTIC_RESTART_COUNT = 1 ] && exit 0; [ $RANK = 1 ] && exit 3; while true; do sleep 0.05; done";
  Node first(endpoints, "2", 1, script), second(endpoints, "2", 1, script);
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(second.wait(), 0);
  EXPECT_TRUE(has(path, "0 try 1"));
  EXPECT_TRUE(has(path, "1 try 1"));
}

TEST_F(Elastic, WithoutRestartsLeftTheJobEndsOnAllNodes) {
  const std::string script = "[ $RANK = 1 ] && exit 3; while true; do sleep 0.05; done";
  Node first(endpoints, "2", 0, script), second(endpoints, "2", 0, script);
  EXPECT_NE(first.wait(), 0);
  EXPECT_NE(second.wait(), 0);
}

// One whose processes have ended, and which is stopped or killed before it sees that, keeps the others no longer than its heart may stand still.
TEST_F(Elastic, ALauncherThatIsLostAtTheEndIsNotWaitedFor) {
  for (const char* const how : {"STOP", "KILL"})
    for (const int lost : {0, 1}) {
      std::remove(path.c_str());
      const std::string script = str("echo $GROUP_RANK >> ", path, "; while [ $(wc -l < ", path, ") -lt 2 ]; do sleep 0.01; done; [ $GROUP_RANK = ", lost,
                                     " ] && { echo $PPID >> ", path, "; kill -", how, " $PPID; }; exit 0");
      const auto began = std::chrono::steady_clock::now();
      Node first(endpoints, "2", 0, script, milliseconds(200)), second(endpoints, "2", 0, script, milliseconds(200));
      while (lines_of(path).size() != 3) std::this_thread::sleep_for(milliseconds(10));
      const int stopped = std::stoi(lines_of(path)[2]);
      EXPECT_EQ((first.pid() == stopped ? second : first).wait(), 0) << how << " of node " << lost;
      EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(60)) << how << " of node " << lost;
    }
}

TEST_F(Elastic, TheLossOfTheStoresHostIsSurvived) {
  // Processes of a node that is left see the loss as processes of a group do: they fail.
  const std::string script = "echo $RANK of $WORLD_SIZE >> " + path + "; while [ ! -e " + path + ".gone ]; do sleep 0.05; done; [ $WORLD_SIZE = 2 ]";
  Node host(endpoints, "2:3", 1, script);
  // It is the one that has the store: the others come when it listens.
  const Endpoint first = parse_endpoints(endpoints)[0];
  Socket::connect(first.host, first.port, after(seconds(60)));
  Node second(endpoints, "2:3", 1, script), third(endpoints, "2:3", 1, script);
  wait_for("2 of 3");
  EXPECT_EQ(host.end(SIGKILL), -SIGKILL);
  std::ofstream(path + ".gone") << "now";
  EXPECT_EQ(second.wait(), 0);
  EXPECT_EQ(third.wait(), 0);
  EXPECT_TRUE(has(path, "0 of 2"));
  EXPECT_TRUE(has(path, "1 of 2"));
  std::remove((path + ".gone").c_str());
}

}  // namespace
}  // namespace cresset::distributed
