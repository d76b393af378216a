#pragma once
// Inside the room: the server of a TCPStore, one thread over all connections.

#include <unistd.h>

#include <map>
#include <memory>
#include <set>
#include <thread>
#include <unordered_map>

#include "cresset/dist/store/frame.h"
#include "cresset/dist/store/table.h"
#include "cresset/dist/transport/secret.h"

namespace cresset::distributed {

constexpr const char* kStoreService = "store";

class StoreServer {
 public:
  // Listens on the address of `host` alone. Port 0: one that is free. Errors: DistNetworkError where it is taken.
  StoreServer(const std::string& host, uint16_t port, std::string secret);
  ~StoreServer();
  uint16_t port() const { return port_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Client {
    explicit Client(Socket s) : socket(std::move(s)) {}
    Socket socket;
    std::string in, out;
    std::unique_ptr<ServerHandshake> handshake;  // until it has shown that it knows the secret
    Clock::time_point last_moment{};             // for that
    bool writing = false;
  };
  // A request that is answered later: the client waits for keys, then gets their values or takes from a queue.
  struct Waiter {
    int client;
    Command command;
    std::vector<std::string> keys;
    Clock::time_point end;
    uint64_t order;
  };

  void serve();
  void accept();
  void watch(int fd, bool writing, bool added);
  void handle(int fd, uint32_t events);
  void read(Client& c);
  void take_frames(int fd, Client& c);
  void run(int fd, Client& c, const Frame& request);
  bool try_finish(const Waiter& w);
  void changed(const std::string& key);
  void send(Client& c, const std::string& bytes);
  void reply(int fd, Status status, int64_t number = 0, std::vector<std::string> texts = {});
  void drop(int fd);
  void expire();
  int wait_time() const;

  const pid_t process_ = getpid();
  const std::string secret_;
  Socket listening_;
  const uint16_t port_;
  int epoll_ = -1, wake_ = -1;
  std::unordered_map<int, std::unique_ptr<Client>> clients_;
  std::map<uint64_t, Waiter> waiters_;
  std::unordered_map<std::string, std::set<uint64_t>> waited_;  // for a key, those who wait for it
  std::set<std::pair<Clock::time_point, uint64_t>> ends_;
  std::set<std::pair<Clock::time_point, int>> handshakes_;
  uint64_t next_waiter_ = 0;
  int64_t greeted_ = 0;
  Table table_;
  std::thread thread_;

  void forget(uint64_t waiter);
};

}  // namespace cresset::distributed
