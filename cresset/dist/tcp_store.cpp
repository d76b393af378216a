// A request is a command and its texts; the answer to it is one number and one text. The server is one thread that polls all
// clients.

#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <thread>

#include "cresset/dist/socket.h"
#include "cresset/dist/store.h"
#include "cresset/dist/table.h"

namespace cresset::distributed {

namespace {

enum class Command : uint8_t { Set, Get, Add, CompareSet, Check, DeleteKey, NumKeys, Hello };
constexpr uint64_t kGreeting = 0x31656C6449747373;
constexpr uint64_t kLargestText = uint64_t{1} << 32;

struct Answer {
  int64_t number = 0;
  std::string text;
  bool failed = false;
};

void append(std::string& out, uint64_t n) { out.append(reinterpret_cast<const char*>(&n), sizeof n); }
void append(std::string& out, const std::string& s) {
  append(out, s.size());
  out += s;
}

// Reads what `append` has written; nothing while the end is missing. Errors: lengths that cannot be.
class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}
  std::optional<uint64_t> number() {
    if (bytes_.size() - at_ < sizeof(uint64_t)) return std::nullopt;
    uint64_t n = 0;
    std::memcpy(&n, bytes_.data() + at_, sizeof n);
    at_ += sizeof n;
    return n;
  }
  std::optional<std::string> text() {
    const auto size = number();
    if (!size) return std::nullopt;
    CRESSET_CHECK(*size < kLargestText, "store: a text of ", *size, " bytes");
    if (bytes_.size() - at_ < *size) return std::nullopt;
    at_ += *size;
    return bytes_.substr(at_ - *size, *size);
  }
  size_t at() const { return at_; }

 private:
  const std::string& bytes_;
  size_t at_ = 0;
};

struct Request {
  Command command{};
  int64_t number = 0;
  std::vector<std::string> texts;
};

std::string encoded(const Request& r) {
  std::string bytes;
  append(bytes, static_cast<uint64_t>(r.command));
  append(bytes, static_cast<uint64_t>(r.number));
  append(bytes, r.texts.size());
  for (const std::string& t : r.texts) append(bytes, t);
  return bytes;
}

// Takes a whole request from the front of `bytes`, if there is one.
std::optional<Request> take_request(std::string& bytes) {
  Reader reader(bytes);
  const auto command = reader.number(), number = reader.number(), count = reader.number();
  if (!command || !number || !count) return std::nullopt;
  CRESSET_CHECK(*command <= static_cast<uint64_t>(Command::Hello) && *count < kLargestText, "store: not a request");
  Request r{static_cast<Command>(*command), static_cast<int64_t>(*number), {}};
  for (uint64_t i = 0; i < *count; i++) {
    auto text = reader.text();
    if (!text) return std::nullopt;
    r.texts.push_back(std::move(*text));
  }
  bytes.erase(0, reader.at());
  return r;
}

class Server {
 public:
  Server(const std::string& host, uint16_t port) : listening_(Socket::listen(host, port)) {
    CRESSET_CHECK(pipe(wake_) == 0, "store: pipe failed: ", std::strerror(errno));
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    close(wake_[1]);
    thread_.join();
    close(wake_[0]);
  }
  uint16_t port() const { return listening_.local_port(); }

 private:
  struct Client {
    Socket socket;
    std::string in, out;
    bool greeted = false, gone = false;
  };

  void serve() {
    for (;;) {
      std::vector<pollfd> polled = {{wake_[0], POLLIN, 0}, {listening_.fd(), POLLIN, 0}};
      for (const auto& c : clients_) polled.push_back({c->socket.fd(), static_cast<short>(c->out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
      if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
      if (polled[0].revents) return;
      const size_t old = clients_.size();
      if (polled[1].revents) accept();
      for (size_t i = 0; i < old; i++)
        if (polled[i + 2].revents) handle(*clients_[i]);
      for (size_t i = clients_.size(); i-- > 0;)
        if (clients_[i]->gone) clients_.erase(clients_.begin() + static_cast<int64_t>(i));
    }
  }
  void accept() {
    try {
      auto client = std::make_unique<Client>();
      client->socket = listening_.accept(after(std::chrono::milliseconds(0)));
      clients_.push_back(std::move(client));
    } catch (const Error&) {}
  }
  // A malformed message costs the client its connection, and others nothing.
  void handle(Client& c) {
    try {
      if (!c.out.empty()) flush(c);
      char buffer[65536];
      for (size_t got; (got = c.socket.try_receive(buffer, sizeof buffer)) > 0;) c.in.append(buffer, got);
      if (!c.greeted) {
        const auto greeting = Reader(c.in).number();
        if (!greeting) return;
        CRESSET_CHECK(*greeting == kGreeting, "store: not a client");
        c.in.erase(0, sizeof(uint64_t));
        c.greeted = true;
      }
      while (const auto request = take_request(c.in)) reply(c, run(*request));
    } catch (const std::exception&) { c.gone = true; }
  }
  Answer run(const Request& r) {
    const auto& t = r.texts;
    const size_t wanted[] = {2, 1, 1, 3, t.size(), 1, 0, 0};
    CRESSET_CHECK(t.size() == wanted[static_cast<size_t>(r.command)], "store: not a request");
    switch (r.command) {
      case Command::Set: table_.values[t[0]] = t[1]; return {};
      case Command::Get: return {0, table_.values[t[0]], false};
      case Command::Add: try { return {table_.add(t[0], r.number), {}, false};
        } catch (const ValueError& e) { return {0, e.message(), true}; }
      case Command::CompareSet: return {0, table_.compare_set(t[0], t[1], t[2]), false};
      case Command::Check: return {table_.has(t), {}, false};
      case Command::DeleteKey: return {static_cast<int64_t>(table_.values.erase(t[0])), {}, false};
      case Command::NumKeys: return {static_cast<int64_t>(table_.values.size()), {}, false};
      case Command::Hello: return {++greeted_, {}, false};
    }
    return {};
  }
  void reply(Client& c, const Answer& a) {
    append(c.out, static_cast<uint64_t>(a.failed));
    append(c.out, static_cast<uint64_t>(a.number));
    append(c.out, a.text);
    flush(c);
  }
  void flush(Client& c) { c.out.erase(0, c.socket.try_send(c.out.data(), c.out.size())); }

  Socket listening_;
  int wake_[2] = {-1, -1};
  std::vector<std::unique_ptr<Client>> clients_;
  Table table_;
  int64_t greeted_ = 0;
  std::thread thread_;
};

}  // namespace

struct TCPStore::State {
  std::unique_ptr<Server> server;
  std::string host;
  uint16_t port = 0;
  std::mutex mutex;
  Socket socket;
  bool lost = false;

  Answer ask(const Request& request, Timeout timeout) {
    const std::lock_guard<std::mutex> lock(mutex);
    CRESSET_CHECK(!lost, "TCPStore: a wait had ended without an answer; make a new store");
    const std::string bytes = encoded(request);
    // An answer that comes too late would be taken for the next one's.
    lost = true;
    const Deadline end = after(timeout);
    socket.send(bytes.data(), bytes.size(), end);
    uint64_t head[3];
    socket.receive(head, sizeof head, end);
    Answer a{static_cast<int64_t>(head[1]), std::string(head[2], '\0'), head[0] != 0};
    socket.receive(a.text.data(), a.text.size(), end);
    lost = false;
    CRESSET_CHECK_VALUE(!a.failed, a.text);
    return a;
  }
};

TCPStore::TCPStore(const TCPStoreOptions& o) : Store(o.timeout), state_(std::make_unique<State>()) {
  CRESSET_CHECK_VALUE(!o.host.empty(), "TCPStore: expected the master's host name, got an empty one");
  state_->host = o.host;
  if (o.is_master) state_->server = std::make_unique<Server>("", o.port);
  state_->port = o.is_master ? state_->server->port() : o.port;
  const Deadline end = after(timeout_);
  state_->socket = Socket::connect(o.is_master ? "localhost" : o.host, state_->port, end);
  state_->socket.set_peer(str("the store at ", o.host, ":", state_->port));
  state_->socket.send(&kGreeting, sizeof kGreeting, end);
  const int64_t number = state_->ask({Command::Hello, 0, {}}, timeout_).number;
  if (number == o.world_size) set("=all here", "");
  if (o.is_master && o.wait_for_workers && o.world_size > 0) wait({"=all here"}, timeout_);
}
TCPStore::~TCPStore() = default;

void TCPStore::set(const std::string& key, const std::string& value) { state_->ask({Command::Set, 0, {key, value}}, timeout_); }
std::string TCPStore::get(const std::string& key) {
  wait({key}, timeout_);
  return state_->ask({Command::Get, 0, {key}}, timeout_).text;
}
int64_t TCPStore::add(const std::string& key, int64_t amount) { return state_->ask({Command::Add, amount, {key}}, timeout_).number; }
std::string TCPStore::compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
  return state_->ask({Command::CompareSet, 0, {key, expected, desired}}, timeout_).text;
}
bool TCPStore::check(const std::vector<std::string>& keys) { return state_->ask({Command::Check, 0, keys}, timeout_).number != 0; }
bool TCPStore::delete_key(const std::string& key) { return state_->ask({Command::DeleteKey, 0, {key}}, timeout_).number != 0; }
int64_t TCPStore::num_keys() { return state_->ask({Command::NumKeys, 0, {}}, timeout_).number; }
void TCPStore::wait(const std::vector<std::string>& keys, Timeout timeout) {
  // Asked from time to time, so that a wait can end without the connection being lost, and threads can share the store.
  const auto end = after(timeout);
  auto pause = std::chrono::microseconds(50);
  while (!check(keys)) {
    if (std::chrono::steady_clock::now() >= end) throw_missing(keys, Table(), timeout.count());
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::microseconds>(2 * pause, std::chrono::milliseconds(10));
  }
}
std::string TCPStore::own_host() { return state_->server ? (state_->host) : state_->socket.local_host(); }
const std::string& TCPStore::host() const { return state_->host; }
uint16_t TCPStore::port() const { return state_->port; }

}  // namespace cresset::distributed
