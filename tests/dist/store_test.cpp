#include "cresset/dist/store/tcp_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <thread>

#include "error_of.h"

namespace cresset::distributed {
namespace {

using std::chrono::milliseconds;

std::string temporary_path() { return ::testing::TempDir() + "store_" + std::to_string(getpid()); }

intrusive_ptr<TCPStore> tcp_master() {
  TCPStoreOptions o;
  o.port = 0;
  o.isServer = true;
  return make_intrusive<TCPStore>("localhost", o);
}

// Behaviour of every store.
void check_store(Store& s) {
  const std::string text("\0x", 2);
  s.set("a", text);
  EXPECT_EQ(s.get_to_str("a"), text);
  EXPECT_EQ(s.add("n", 3), 3);
  EXPECT_EQ(s.add("n", -5), -2);
  EXPECT_EQ(s.get_to_str("n"), "-2");
  EXPECT_NE(error_of([&] { s.add("a", 1); }).find("expected a number"), std::string::npos);
  EXPECT_EQ(s.get_to_str("a"), text);
  EXPECT_EQ(s.compareSet("c", std::string(""), std::string("first")), "first");
  EXPECT_EQ(s.compareSet("c", std::string(""), std::string("second")), "first");
  EXPECT_EQ(s.compareSet("c", std::string("first"), std::string("second")), "second");
  EXPECT_EQ(s.compareSet("nowhere", std::string("expected"), std::string("new")), "expected");
  EXPECT_TRUE(s.check({"a", "c"}));
  EXPECT_FALSE(s.check({"a", "nowhere"}));
  EXPECT_EQ(s.getNumKeys(), 3);
  EXPECT_TRUE(s.deleteKey("c"));
  EXPECT_FALSE(s.check({"c"}));
  s.setTimeout(milliseconds(30));
  EXPECT_NE(error_of([&] { s.get("nowhere"); }).find("waited 30 ms for '"), std::string::npos);
  EXPECT_NE(error_of([&] { s.get("nowhere"); }).find("nowhere', which no process has set"), std::string::npos);
  s.setTimeout(std::chrono::minutes(1));
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(20));
    s.set("late", std::string("v"));
  });
  EXPECT_EQ(s.get_to_str("late"), "v");
  other.join();
}

TEST(Store, InMemory) { check_store(*make_intrusive<HashStore>()); }
TEST(Store, OverTcp) { check_store(*tcp_master()); }
TEST(Store, InAFile) {
  const std::string path = temporary_path();
  check_store(*make_intrusive<FileStore>(path));
  std::remove(path.c_str());
}
TEST(Store, WithAPrefix) {
  const auto whole = make_intrusive<HashStore>();
  check_store(*make_intrusive<PrefixStore>("p", whole));
  EXPECT_TRUE(whole->check({"p/a"}));
}

TEST(Store, LastUserRemovesTheFile) {
  const std::string path = temporary_path();
  auto first = make_intrusive<FileStore>(path, 2), second = make_intrusive<FileStore>(path, 2);
  first->set("k", std::string("v"));
  EXPECT_EQ(second->get_to_str("k"), "v");
  first.reset();
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  second.reset();
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST(Store, AFileOfOtherContentsIsAnError) {
  const std::string path = temporary_path();
  std::ofstream(path) << "something else altogether";
  EXPECT_NE(error_of([&] { FileStore store(path, 1); }).find("not one of a store"), std::string::npos);
  std::string now;
  std::getline(std::ifstream(path), now);
  EXPECT_EQ(now, "something else altogether");
  std::remove(path.c_str());
}

TEST(TCPStore, ClientsShareTheMastersKeys) {
  const auto master = tcp_master();
  TCPStoreOptions o;
  o.port = master->getPort();
  TCPStore client("localhost", o);
  client.set("k", std::string(300000, 'x'));
  EXPECT_EQ(master->get("k").size(), 300000u);
  EXPECT_EQ(client.getNumKeys(), 1);
}

TEST(TCPStore, MasterWaitsForTheWorkers) {
  TCPStoreOptions o;
  o.port = 0;
  o.isServer = true;
  o.numWorkers = 2;
  o.timeout = milliseconds(100);
  EXPECT_NE(error_of([&] { TCPStore alone("localhost", o); }).find("waited 100 ms"), std::string::npos);
}

TEST(TCPStore, NobodyListens) {
  TCPStoreOptions o;
  o.port = 1;
  o.timeout = milliseconds(50);
  EXPECT_NE(error_of([&] { TCPStore s("localhost", o); }).find("could not connect to localhost:1"), std::string::npos);
  EXPECT_NE(error_of([&] { TCPStore s("", o); }).find("host name"), std::string::npos);
}

// Behaviour of stores that have the extended interface.
void check_extended(Store& s) {
  EXPECT_TRUE(s.hasExtendedApi());
  s.append("log", to_bytes("one"));
  s.append("log", to_bytes("two"));
  EXPECT_EQ(s.get_to_str("log"), "onetwo");
  s.multiSet({"x", "y"}, {to_bytes("1"), to_bytes("2")});
  EXPECT_EQ(s.multiGet({"y", "x"}), (std::vector<Bytes>{to_bytes("2"), to_bytes("1")}));
  EXPECT_NE(error_of([&] { s.multiSet({"x", "y"}, {to_bytes("1")}); }).find("as many values as keys"), std::string::npos);
  s.queuePush("q", to_bytes("a"));
  s.queuePush("q", to_bytes("b"));
  EXPECT_EQ(s.queueLen("q"), 2);
  EXPECT_EQ(to_text(s.queuePop("q")), "a");
  EXPECT_EQ(to_text(s.queuePop("q")), "b");
  EXPECT_THROW(s.queuePop("q", false), DistQueueEmptyError);
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(20));
    s.queuePush("q", to_bytes("late"));
  });
  EXPECT_EQ(to_text(s.queuePop("q")), "late");
  other.join();
  const auto keys = s.listKeys();
  EXPECT_EQ(std::count(keys.begin(), keys.end(), "log"), 1);
  const auto again = s.clone();
  EXPECT_EQ(again->get_to_str("log"), "onetwo");
}

TEST(Store, ExtendedInMemory) { check_extended(*make_intrusive<HashStore>()); }
TEST(Store, ExtendedOverTcp) { check_extended(*tcp_master()); }
TEST(Store, ExtendedInAFile) { check_extended(*make_intrusive<FileStore>(temporary_path())); }
TEST(Store, ExtendedWithAPrefix) { check_extended(*make_intrusive<PrefixStore>("p", make_intrusive<HashStore>())); }

// A lease is held by one owner at a time, ends by itself, and each new holder has a larger number.
void check_leases(Store& s) {
  const int64_t first = s.acquireLease("l", "ann", milliseconds(60));
  EXPECT_GT(first, 0);
  EXPECT_EQ(s.acquireLease("l", "bob", milliseconds(60)), 0);
  EXPECT_EQ(s.acquireLease("l", "ann", milliseconds(60)), first);
  EXPECT_FALSE(s.releaseLease("l", "bob"));
  std::this_thread::sleep_for(milliseconds(90));
  const int64_t second = s.acquireLease("l", "bob", milliseconds(500));
  EXPECT_GT(second, first);
  EXPECT_FALSE(s.releaseLease("l", "ann"));
  EXPECT_TRUE(s.releaseLease("l", "bob"));
  EXPECT_GT(s.acquireLease("l", "ann", milliseconds(60)), second);
}
TEST(Store, LeasesInMemory) { check_leases(*make_intrusive<HashStore>()); }
TEST(Store, LeasesInAFile) { check_leases(*make_intrusive<FileStore>(temporary_path())); }
TEST(Store, LeasesOverTcp) { check_leases(*tcp_master()); }

// The clock of deadlines holds less than the largest time.
void check_longest_wait(Store& s) {
  s.setTimeout(Store::Timeout::max());
  std::thread sets([&] {
    std::this_thread::sleep_for(milliseconds(30));
    s.set("late", std::string("v"));
  });
  EXPECT_EQ(s.get_to_str("late"), "v");
  sets.join();
  EXPECT_GT(s.acquireLease("l", "ann", Store::Timeout::max()), 0);
  EXPECT_EQ(s.acquireLease("l", "bob", milliseconds(1)), 0);
  // A lease that has ended before it began is free for the next.
  EXPECT_GT(s.acquireLease("past", "ann", Store::Timeout::min()), 0);
  EXPECT_GT(s.acquireLease("past", "bob", milliseconds(1)), 0);
}
TEST(Store, TheLongestWaitInMemory) { check_longest_wait(*make_intrusive<HashStore>()); }
TEST(Store, TheLongestWaitOverTcp) { check_longest_wait(*tcp_master()); }

TEST(TCPStore, ThreadsOfOneClientWaitBesideEachOther) {
  const auto store = tcp_master();
  std::thread waits([&] { EXPECT_EQ(store->get_to_str("late"), "v"); });
  std::this_thread::sleep_for(milliseconds(30));
  store->set("late", std::string("v"));  // is not held up by the thread that waits
  waits.join();
}

TEST(TCPStore, APortThatIsTakenIsAnError) {
  const auto master = tcp_master();
  TCPStoreOptions o;
  o.port = master->getPort();
  o.isServer = true;
  EXPECT_NE(error_of([&] { TCPStore s("localhost", o); }).find("cannot listen on localhost at port"), std::string::npos);
  o.multiTenant = true;
  EXPECT_NE(error_of([&] { TCPStore s("localhost", o); }).find("cannot listen"), std::string::npos);
}

}  // namespace
}  // namespace cresset::distributed
