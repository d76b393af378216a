#include "cresset/dist/store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <thread>

#include "error_of.h"

namespace cresset::distributed {
namespace {

using std::chrono::milliseconds;

std::string temporary_path() { return ::testing::TempDir() + "store_" + std::to_string(getpid()); }

std::shared_ptr<Store> tcp_master() {
  TCPStoreOptions o;
  o.host = "localhost";
  o.port = 0;
  o.is_master = true;
  return std::make_shared<TCPStore>(o);
}

// Behaviour of every store.
void check_store(Store& s) {
  s.set("a", std::string("\0x", 2));
  EXPECT_EQ(s.get("a"), std::string("\0x", 2));
  EXPECT_EQ(s.add("n", 3), 3);
  EXPECT_EQ(s.add("n", -5), -2);
  EXPECT_EQ(s.get("n"), "-2");
  EXPECT_NE(error_of([&] { s.add("a", 1); }).find("expected a number"), std::string::npos);
  EXPECT_EQ(s.get("a"), std::string("\0x", 2));
  EXPECT_EQ(s.compare_set("c", "", "first"), "first");
  EXPECT_EQ(s.compare_set("c", "", "second"), "first");
  EXPECT_EQ(s.compare_set("c", "first", "second"), "second");
  EXPECT_EQ(s.compare_set("nowhere", "expected", "new"), "expected");
  EXPECT_TRUE(s.check({"a", "c"}));
  EXPECT_FALSE(s.check({"a", "nowhere"}));
  EXPECT_EQ(s.num_keys(), 3);
  EXPECT_TRUE(s.delete_key("c"));
  EXPECT_FALSE(s.delete_key("c"));
  s.set_timeout(milliseconds(30));
  EXPECT_NE(error_of([&] { s.get("nowhere"); }).find("waited 30 ms for '"), std::string::npos);
  EXPECT_NE(error_of([&] { s.get("nowhere"); }).find("nowhere', which no process has set"), std::string::npos);
  s.set_timeout(std::chrono::minutes(1));
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(20));
    s.set("late", "v");
  });
  EXPECT_EQ(s.get("late"), "v");
  other.join();
}

TEST(Store, InMemory) { check_store(*make_hash_store()); }
TEST(Store, OverTcp) { check_store(*tcp_master()); }
TEST(Store, InAFile) {
  const std::string path = temporary_path();
  check_store(*make_file_store(path, -1));
  std::remove(path.c_str());
}
TEST(Store, WithAPrefix) {
  const auto whole = make_hash_store();
  check_store(*make_prefix_store("p", whole));
  EXPECT_TRUE(whole->check({"p/a"}));
}

TEST(Store, LastUserRemovesTheFile) {
  const std::string path = temporary_path();
  auto first = make_file_store(path, 2), second = make_file_store(path, 2);
  first->set("k", "v");
  EXPECT_EQ(second->get("k"), "v");
  first.reset();
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  second.reset();
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST(Store, AFileOfOtherContentsIsAnError) {
  const std::string path = temporary_path();
  std::ofstream(path) << "something else altogether";
  EXPECT_NE(error_of([&] { make_file_store(path, 1); }).find("not one of a store"), std::string::npos);
  std::string now;
  std::getline(std::ifstream(path), now);
  EXPECT_EQ(now, "something else altogether");
  std::remove(path.c_str());
}

TEST(TCPStore, ClientsShareTheMastersKeys) {
  const auto master = tcp_master();
  TCPStoreOptions o;
  o.host = "localhost";
  o.port = static_cast<TCPStore&>(*master).port();
  TCPStore client(o);
  client.set("k", std::string(300000, 'x'));
  EXPECT_EQ(master->get("k").size(), 300000u);
  EXPECT_EQ(client.num_keys(), 1);
}

TEST(TCPStore, MasterWaitsForTheWorkers) {
  TCPStoreOptions o;
  o.host = "localhost";
  o.port = 0;
  o.is_master = true;
  o.world_size = 2;
  o.timeout = milliseconds(100);
  EXPECT_NE(error_of([&] { TCPStore alone(o); }).find("waited 100 ms"), std::string::npos);
}

TEST(TCPStore, NobodyListens) {
  TCPStoreOptions o;
  o.host = "localhost";
  o.port = 1;
  o.timeout = milliseconds(50);
  EXPECT_NE(error_of([&] { TCPStore s(o); }).find("could not connect to localhost:1"), std::string::npos);
  o.host = "";
  EXPECT_NE(error_of([&] { TCPStore s(o); }).find("host name"), std::string::npos);
}

}  // namespace
}  // namespace cresset::distributed
