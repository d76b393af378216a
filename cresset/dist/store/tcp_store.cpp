#include "cresset/dist/store/tcp_store.h"

#include <mutex>

#include "cresset/dist/store/tcp_server.h"

namespace cresset::distributed {

namespace {

// An answer may take so much longer than the time that the server was asked to wait.
constexpr auto kGrace = std::chrono::milliseconds(1500);
constexpr auto kReconnectTime = std::chrono::milliseconds(500);
constexpr const char* kAllHere = "=all here";

// Servers of this process that later stores may share.
std::shared_ptr<StoreServer> shared_server(const std::string& host, uint16_t port) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, uint16_t>, std::weak_ptr<StoreServer>> servers;
  const std::lock_guard<std::mutex> lock(mutex);
  auto& known = servers[{host, port}];
  std::shared_ptr<StoreServer> server = known.lock();
  if (!server) known = server = std::make_shared<StoreServer>(host, port, job_secret());
  return server;
}

Frame request(Command command, std::vector<std::string> texts = {}, int64_t number = 0) { return {static_cast<uint8_t>(command), number, std::move(texts)}; }

}  // namespace

struct TCPStore::State {
  std::shared_ptr<StoreServer> server;
  std::string host, secret = job_secret();
  uint16_t port = 0;
  size_t workers = 0;  // that the server waits for
  std::mutex mutex;
  std::vector<Socket> idle;
  pid_t process = getpid();

  Socket connect(Deadline end) const {
    Socket s = Socket::connect(host, port, end);
    s.set_peer(str("the store at ", host, ":", port));
    authenticate_as_client(s, secret, kStoreService, end);
    return s;
  }
  Socket take() {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (getpid() != process) idle.clear();  // after a fork they are the other process's
      process = getpid();
      if (!idle.empty()) {
        Socket s = std::move(idle.back());
        idle.pop_back();
        return s;
      }
    }
    return connect(after(kReconnectTime));
  }

  // A connection on which an answer is missing is not used again.
  Frame ask(const Frame& question, Timeout timeout) {
    Socket socket = take();
    const std::string bytes = encode_frame(question);
    const Deadline end = after(timeout) + kGrace;
    socket.send(bytes.data(), bytes.size(), end);
    char head[kFrameHead];
    socket.receive(head, sizeof head, end);
    std::string body(frame_size(head), '\0');
    socket.receive(body.data(), body.size(), end);
    Frame answer = decode_frame(body.data(), body.size());
    {
      const std::lock_guard<std::mutex> lock(mutex);
      idle.push_back(std::move(socket));
    }
    CRESSET_CHECK_VALUE(answer.code != static_cast<uint8_t>(Status::BadValue), answer.texts.at(0));
    return answer;
  }
};

namespace {

bool timed_out(const Frame& answer) { return answer.code == static_cast<uint8_t>(Status::TimedOut); }

}  // namespace

TCPStore::TCPStore(std::string host, const TCPStoreOptions& o) : Store(o.timeout), state_(std::make_shared<State>()) {
  CRESSET_CHECK_VALUE(!host.empty(), "TCPStore: expected the server's host name, got an empty one");
  CRESSET_CHECK_VALUE(!o.masterListenFd, "TCPStore: a socket that listens already (masterListenFd) cannot be taken over; give its port");
  state_->host = std::move(host);
  if (o.isServer) {
    const bool shared = o.multiTenant && o.port != 0;
    state_->server = shared ? shared_server(state_->host, o.port) : std::make_shared<StoreServer>(state_->host, o.port, state_->secret);
  }
  state_->port = o.isServer ? state_->server->port() : o.port;
  state_->idle.push_back(state_->connect(after(timeout_)));
  const int64_t number = state_->ask(request(Command::Hello), timeout_).number;
  if (!o.numWorkers || *o.numWorkers == 0) return;
  if (number == static_cast<int64_t>(*o.numWorkers)) set(kAllHere, std::string());
  if (!o.isServer) return;
  state_->workers = *o.numWorkers;
  if (o.waitWorkers) waitForWorkers();
}
void TCPStore::waitForWorkers() {
  if (state_->workers == 0 || check({kAllHere})) return;
  try {
    wait({kAllHere}, timeout_);
  } catch (const DistStoreError&) {
    throw DistStoreError(str("TCPStore: waited ", timeout_.count(), " ms for ", state_->workers, " workers, the server included; not all have come"));
  }
}
TCPStore::TCPStore(std::shared_ptr<State> state, Timeout timeout) : Store(timeout), state_(std::move(state)) {}
TCPStore::~TCPStore() = default;

void TCPStore::set(const std::string& key, const Bytes& value) { state_->ask(request(Command::Set, {key, to_text(value)}), timeout_); }
Bytes TCPStore::get(const std::string& key) { return std::move(multiGet({key})[0]); }
int64_t TCPStore::add(const std::string& key, int64_t amount) { return state_->ask(request(Command::Add, {key}, amount), timeout_).number; }
Bytes TCPStore::compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) {
  return to_bytes(state_->ask(request(Command::CompareSet, {key, to_text(expected), to_text(desired)}), timeout_).texts.at(0));
}
bool TCPStore::check(const std::vector<std::string>& keys) { return state_->ask(request(Command::Check, keys), timeout_).number != 0; }
bool TCPStore::deleteKey(const std::string& key) { return state_->ask(request(Command::Delete, {key}), timeout_).number != 0; }
int64_t TCPStore::getNumKeys() { return state_->ask(request(Command::Count), timeout_).number; }
void TCPStore::wait(const std::vector<std::string>& keys, const Timeout& timeout) {
  if (!timed_out(state_->ask(request(Command::Wait, keys, timeout.count()), timeout))) return;
  throw_missing(keys, timeout.count(), [&](const std::string& key) { return check({key}); });
}
void TCPStore::append(const std::string& key, const Bytes& value) { state_->ask(request(Command::Append, {key, to_text(value)}), timeout_); }
std::vector<Bytes> TCPStore::multiGet(const std::vector<std::string>& keys) {
  const Frame answer = state_->ask(request(Command::Get, keys, timeout_.count()), timeout_);
  if (timed_out(answer)) throw_missing(keys, timeout_.count(), [&](const std::string& key) { return check({key}); });
  std::vector<Bytes> values;
  for (const std::string& text : answer.texts) values.push_back(to_bytes(text));
  CRESSET_CHECK_AS(DistNetworkError, values.size() == keys.size(), "store: an answer with ", values.size(), " values for ", keys.size(), " keys");
  return values;
}
void TCPStore::multiSet(const std::vector<std::string>& keys, const std::vector<Bytes>& values) {
  CRESSET_CHECK_VALUE(keys.size() == values.size(), "store: multi_set: expected as many values as keys, got ", keys.size(), " keys and ", values.size(),
                      " values");
  std::vector<std::string> pairs;
  for (size_t i = 0; i < keys.size(); i++) {
    pairs.push_back(keys[i]);
    pairs.push_back(to_text(values[i]));
  }
  state_->ask(request(Command::MultiSet, std::move(pairs)), timeout_);
}
void TCPStore::queuePush(const std::string& key, const Bytes& value) { state_->ask(request(Command::Push, {key, to_text(value)}), timeout_); }
Bytes TCPStore::queuePop(const std::string& key, bool block) {
  const Timeout time = block ? timeout_ : kNoTimeout;
  const Frame answer = state_->ask(request(Command::Pop, {key}, time.count()), time);
  if (timed_out(answer)) throw DistQueueEmptyError(str("store: queue_pop: the queue '", key, "' is empty"));
  return to_bytes(answer.texts.at(0));
}
int64_t TCPStore::queueLen(const std::string& key) { return state_->ask(request(Command::Length, {key}), timeout_).number; }
std::vector<std::string> TCPStore::listKeys() { return state_->ask(request(Command::Keys), timeout_).texts; }
int64_t TCPStore::acquireLease(const std::string& name, const std::string& owner, Timeout time) {
  return state_->ask(request(Command::Acquire, {name, owner}, time.count()), timeout_).number;
}
bool TCPStore::releaseLease(const std::string& name, const std::string& owner) {
  return state_->ask(request(Command::Release, {name, owner}), timeout_).number != 0;
}
intrusive_ptr<Store> TCPStore::clone() { return intrusive_ptr<Store>::unsafe_steal_from_new(new TCPStore(state_, timeout_)); }
std::string TCPStore::ownHost() {
  Socket socket = state_->take();
  const std::string host = socket.local_host();
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->idle.push_back(std::move(socket));
  return host;
}
const std::string& TCPStore::getHost() const noexcept { return state_->host; }
uint16_t TCPStore::getPort() const noexcept { return state_->port; }

}  // namespace cresset::distributed
