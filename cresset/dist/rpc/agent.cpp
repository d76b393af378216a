#include "cresset/dist/rpc/agent.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <map>
#include <set>
#include <thread>
#include <unordered_map>

#include "cresset/dist/rpc/frame.h"
#include "cresset/dist/rpc/pool.h"
#include "cresset/dist/transport/secret.h"

namespace cresset::distributed::rpc {

namespace {

constexpr const char* kService = "rpc";
constexpr auto kGreeting = std::chrono::seconds(10);  // for the handshake of a connection
constexpr auto kReplyTime = std::chrono::minutes(5);  // for a worker that does not read its answer

// One sender at a time, with a deadline. A std::timed_mutex does the same in a way that ThreadSanitizer does not follow.
class Turn {
 public:
  class Holder {
   public:
    Holder(Turn& turn, Deadline end) : turn_(turn), holds_(turn.take(end)) {}
    ~Holder() {
      if (holds_) turn_.give();
    }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
    bool holds() const { return holds_; }

   private:
    Turn& turn_;
    const bool holds_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable given_;
  bool taken_ = false;

  bool take(Deadline end) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!given_.wait_until(lock, end, [this] { return !taken_; })) return false;
    return taken_ = true;
  }
  void give() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      taken_ = false;
    }
    given_.notify_one();
  }
};

struct Connection {
  Connection(Socket s, bool own) : socket(std::move(s)), asks(own) {}
  const Socket socket;
  const bool asks;  // made by this worker, for its requests; else by another
  Turn sending;
  std::atomic<bool> lost{false};
  // Of the thread that reads.
  std::unique_ptr<ServerHandshake> handshake;  // until the other has shown that it knows the secret
  std::string greeting;
  Deadline greeted_by{};
  FrameReader frames;
  int worker = -1;

  void send(uint64_t number, const std::string& bytes, Deadline deadline) {
    const std::string head = frame_head(number, bytes.size());
    const Turn::Holder holder(sending, deadline);
    CRESSET_CHECK_AS(DistNetworkError, holder.holds(), "dist: sending to ", socket.peer(), ": the time is up");
    CRESSET_CHECK_AS(DistNetworkError, !lost, "dist: the connection to ", socket.peer(), " is lost");
    try {
      socket.send(head.data(), head.size(), deadline);
      socket.send(bytes.data(), bytes.size(), deadline);
    } catch (const DistNetworkError&) {
      // Half a message may have gone: nothing can follow it.
      drop();
      throw;
    }
  }
  // The thread that reads sees the end.
  void drop() {
    lost = true;
    ::shutdown(socket.fd(), SHUT_RDWR);
  }
};
using ConnectionPtr = std::shared_ptr<Connection>;

}  // namespace

struct Agent::State : std::enable_shared_from_this<State> {
  struct Pending {
    int worker;
    ConnectionPtr connection;
    Done done;
    Deadline end;
    Time timeout;
  };

  intrusive_ptr<Store> store;
  WorkerInfo info;
  std::string secret = job_secret();
  Serve serve;
  Gone gone;
  Socket listening;
  std::vector<WorkerInfo> workers;
  std::vector<std::pair<std::string, uint16_t>> addresses;
  std::vector<std::mutex> connecting;

  std::mutex mutex;
  std::condition_variable idle;
  bool closed = false;
  uint64_t next_number = 1, next_ticket = 1;
  std::map<uint64_t, Pending> pending;
  std::set<std::pair<Deadline, uint64_t>> ends;
  size_t finishing = 0;
  std::vector<ConnectionPtr> own;  // by worker
  std::vector<ConnectionPtr> added;
  std::map<uint64_t, std::pair<std::weak_ptr<Connection>, uint64_t>> tickets;
  Deadline sleeps_until = Deadline::max();

  int epoll = -1, wake = -1;
  std::unordered_map<int, ConnectionPtr> connections;
  Pool pool;
  std::thread thread;

  explicit State(size_t size) : connecting(size), own(size) {}
  ~State() {
    if (epoll >= 0) ::close(epoll);
    if (wake >= 0) ::close(wake);
  }

  std::string named(int worker) const {
    const WorkerInfo& w = workers[static_cast<size_t>(worker)];
    return str("WorkerInfo(id=", w.id_, ", name=", w.name_, ")");
  }

  void begin() {
    epoll = epoll_create1(EPOLL_CLOEXEC);
    wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CRESSET_CHECK_AS(DistError, epoll >= 0 && wake >= 0, "rpc: no event descriptors: ", std::strerror(errno));
    watch(wake);
    watch(listening.fd());
    thread = std::thread([this] { loop(); });
  }
  void watch(int fd) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  }
  void ring() const {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = write(wake, &one, sizeof one);
  }

  // ---- Requests of this worker ----

  ConnectionPtr connection(int to, Deadline deadline) {
    const std::lock_guard<std::mutex> one(connecting[static_cast<size_t>(to)]);
    {
      const std::lock_guard<std::mutex> lock(mutex);
      CRESSET_CHECK_AS(DistError, !closed, "rpc: this worker has shut down");
      const ConnectionPtr& known = own[static_cast<size_t>(to)];
      if (known && !known->lost) return known;
    }
    const auto& [host, port] = addresses[static_cast<size_t>(to)];
    try {
      const Deadline end = std::min(deadline, after(kGreeting));
      auto made = std::make_shared<Connection>(Socket::connect(host, port, end), true);
      authenticate_as_client(made->socket, secret, kService, end);
      made->worker = to;
      const int64_t self = info.id_;
      made->send(0, std::string(reinterpret_cast<const char*>(&self), sizeof self), end);
      const std::lock_guard<std::mutex> lock(mutex);
      CRESSET_CHECK_AS(DistError, !closed, "rpc: this worker has shut down");
      own[static_cast<size_t>(to)] = made;
      added.push_back(made);
      ring();
      return made;
    } catch (const DistNetworkError& error) { throw DistNetworkError(str("rpc: ", named(to), " cannot be reached: ", error.what())); }
  }

  void ask(int to, const std::string& request, Time timeout, Done done) {
    const Deadline end = timeout.count() > 0 ? after(timeout) : Deadline::max();
    const ConnectionPtr c = connection(to, end);
    uint64_t number = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      CRESSET_CHECK_AS(DistError, !closed, "rpc: this worker has shut down");
      number = next_number++;
      pending.emplace(number, Pending{to, c, std::move(done), end, timeout});
      if (end != Deadline::max()) ends.emplace(end, number);
      if (end < sleeps_until) ring();
    }
    try {
      c->send(number, request, std::min(end, after(std::chrono::hours(1))));
    } catch (const DistNetworkError& error) {
      fail(number, std::make_exception_ptr(DistNetworkError(str("rpc: ", named(to), " cannot be reached: ", error.what()))));
    }
  }

  // Answers a request of this worker, if it is open.
  void finish(uint64_t number, std::string answer, std::exception_ptr error) {
    Done done;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      const auto at = pending.find(number);
      if (at == pending.end()) return;
      done = std::move(at->second.done);
      ends.erase({at->second.end, number});
      pending.erase(at);
      finishing++;
    }
    pool.run([self = shared_from_this(), done = std::move(done), answer = std::make_shared<std::string>(std::move(answer)), error = std::move(error)] {
      done(std::move(*answer), error);
      const std::lock_guard<std::mutex> lock(self->mutex);
      self->finishing--;
      self->idle.notify_all();
    });
  }
  void fail(uint64_t number, std::exception_ptr error) { finish(number, {}, std::move(error)); }

  void expire() {
    std::vector<std::pair<uint64_t, std::string>> late;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      const auto now = std::chrono::steady_clock::now();
      for (const auto& [end, number] : ends) {
        if (end > now) break;
        const Pending& p = pending.at(number);
        late.emplace_back(number,
                          str("rpc: ", named(p.worker), " has not answered within the timeout of ", static_cast<double>(p.timeout.count()) / 1000, " s"));
      }
    }
    for (const auto& [number, text] : late) fail(number, std::make_exception_ptr(DistError(text)));
  }

  // ---- The thread that reads ----

  int sleep_time() {
    const std::lock_guard<std::mutex> lock(mutex);
    sleeps_until = ends.empty() ? Deadline::max() : ends.begin()->first;
    for (const auto& [fd, c] : connections)
      if (c->handshake) sleeps_until = std::min(sleeps_until, c->greeted_by);
    return sleeps_until == Deadline::max() ? -1 : poll_time(sleeps_until) + 1;
  }

  void loop() {
    for (;;) {
      epoll_event events[64];
      const int n = epoll_wait(epoll, events, 64, sleep_time());
      {
        const std::lock_guard<std::mutex> lock(mutex);
        if (closed) break;
        for (ConnectionPtr& c : added) {
          connections[c->socket.fd()] = c;
          watch(c->socket.fd());
        }
        added.clear();
      }
      for (int i = 0; i < n; i++) {
        const int fd = events[i].data.fd;
        if (fd == wake) {
          uint64_t count = 0;
          [[maybe_unused]] const ssize_t got = ::read(wake, &count, sizeof count);
        } else if (fd == listening.fd()) {
          accept();
        } else if (const auto at = connections.find(fd); at != connections.end()) {
          const ConnectionPtr c = at->second;
          try {
            read(c);
          } catch (const Error& error) { forget(c, error.what()); }
        }
      }
      expire();
      const auto now = std::chrono::steady_clock::now();
      std::vector<ConnectionPtr> silent;
      for (const auto& [fd, c] : connections)
        if (c->handshake && c->greeted_by <= now) silent.push_back(c);
      for (const ConnectionPtr& c : silent) forget(c, "it did not show that it knows the secret");
    }
    const auto all = std::move(connections);
    for (const auto& [fd, c] : all) forget(c, "this worker has shut down");
  }

  void accept() {
    try {
      auto c = std::make_shared<Connection>(listening.accept(std::chrono::steady_clock::now()), false);
      c->handshake = std::make_unique<ServerHandshake>(secret, kService);
      c->greeted_by = after(kGreeting);
      const std::string hello = c->handshake->hello();
      c->socket.send(hello.data(), hello.size(), after(std::chrono::seconds(1)));
      connections[c->socket.fd()] = c;
      watch(c->socket.fd());
    } catch (const DistNetworkError&) {}  // it has gone again
  }

  void read(const ConnectionPtr& c) {
    // A bound, so that one connection does not keep the others waiting.
    static thread_local std::string buffer(size_t{1} << 20, '\0');
    for (int turns = 0; turns < 16; turns++) {
      const size_t got = c->socket.try_receive(buffer.data(), buffer.size());
      if (got == 0) return;
      std::string_view bytes(buffer.data(), got);
      if (c->handshake && !greet(*c, bytes)) continue;
      c->frames.feed(bytes, [&](uint64_t number, std::string body) { take(c, number, std::move(body)); });
    }
  }

  // Whether the handshake is done; then `bytes` are those behind it.
  static bool greet(Connection& c, std::string_view& bytes) {
    const size_t part = std::min(ServerHandshake::wanted() - c.greeting.size(), bytes.size());
    c.greeting += bytes.substr(0, part);
    bytes.remove_prefix(part);
    if (c.greeting.size() < ServerHandshake::wanted()) return false;
    const std::string answer = c.handshake->accept(c.greeting);
    c.socket.send(answer.data(), answer.size(), after(std::chrono::seconds(1)));
    c.handshake = nullptr;
    return true;
  }

  void take(const ConnectionPtr& c, uint64_t number, std::string body) {
    if (c->asks) return finish(number, std::move(body), nullptr);
    if (number == 0) {
      int64_t worker = -1;
      if (body.size() == sizeof worker) std::memcpy(&worker, body.data(), sizeof worker);
      CRESSET_CHECK_AS(DistNetworkError, worker >= 0 && worker < static_cast<int64_t>(workers.size()), "rpc: not a worker's greeting");
      c->worker = static_cast<int>(worker);
      return;
    }
    uint64_t ticket = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      ticket = next_ticket++;
      tickets[ticket] = {c, number};
    }
    pool.run([self = shared_from_this(), ticket, body = std::make_shared<std::string>(std::move(body))] { self->serve(ticket, std::move(*body)); });
  }

  void forget(const ConnectionPtr& c, const std::string& reason) {
    c->drop();
    epoll_ctl(epoll, EPOLL_CTL_DEL, c->socket.fd(), nullptr);
    connections.erase(c->socket.fd());
    std::vector<uint64_t> open;
    bool tells = false;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      for (const auto& [number, p] : pending)
        if (p.connection == c) open.push_back(number);
      tells = !closed && !c->asks && c->worker >= 0;
    }
    for (const uint64_t number : open) fail(number, std::make_exception_ptr(DistError(str("rpc: ", named(c->worker), " is gone: ", reason))));
    if (tells) pool.run([self = shared_from_this(), worker = c->worker] { self->gone(worker); });
  }

  void reply(uint64_t ticket, const std::string& answer) {
    ConnectionPtr c;
    uint64_t number = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      const auto at = tickets.find(ticket);
      if (at == tickets.end()) return;
      c = at->second.first.lock();
      number = at->second.second;
      tickets.erase(at);
    }
    if (!c) return;
    try {
      c->send(number, answer, after(kReplyTime));
    } catch (const DistNetworkError&) {}  // the one who asked has gone
  }

  void close() {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (closed) return;
      closed = true;
    }
    ring();
    if (thread.joinable()) thread.join();
    std::vector<uint64_t> open;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      for (const auto& [number, p] : pending) open.push_back(number);
      for (const ConnectionPtr& c : added) c->drop();
      own.assign(own.size(), nullptr);
    }
    for (const uint64_t number : open) fail(number, std::make_exception_ptr(DistError("rpc: this worker has shut down")));
    listening = Socket();
  }
};

Agent::Agent(intrusive_ptr<Store> store, const std::string& name, int rank, int size, Serve serve, Gone gone)
    : state_(std::make_shared<State>(static_cast<size_t>(std::max(size, 1)))) {
  CRESSET_CHECK_VALUE(size > 0 && rank >= 0 && rank < size, "init_rpc: expected a rank in [0, ", size, "), got ", rank);
  State& s = *state_;
  s.store = std::move(store);
  s.info = {name, rank};
  s.serve = std::move(serve);
  s.gone = std::move(gone);
  const std::string host = s.store->ownHost();
  s.listening = Socket::listen(host, 0);
  s.store->set(str("rpc/", rank), str(name, " ", host, " ", s.listening.local_port()));
  for (int other = 0; other < size; other++) {
    const std::string text = s.store->get_to_str(str("rpc/", other));
    const size_t port = text.rfind(' '), where = port == std::string::npos || port == 0 ? port : text.rfind(' ', port - 1);
    CRESSET_CHECK_AS(DistError, port != std::string::npos && where != std::string::npos, "init_rpc: worker ", other, " has left no address");
    const WorkerInfo worker{text.substr(0, where), other};
    for (const WorkerInfo& w : s.workers) CRESSET_CHECK(w.name_ != worker.name_, "init_rpc: two workers have the name '", worker.name_, "'");
    s.workers.push_back(worker);
    s.addresses.emplace_back(text.substr(where + 1, port - where - 1), static_cast<uint16_t>(std::strtoul(text.c_str() + port, nullptr, 10)));
  }
  s.begin();
}
Agent::~Agent() { close(); }

const WorkerInfo& Agent::info() const { return state_->info; }
const std::vector<WorkerInfo>& Agent::workers() const { return state_->workers; }
const WorkerInfo& Agent::worker(const std::string& name) const {
  std::string all;
  for (const WorkerInfo& w : workers()) {
    if (w.name_ == name) return w;
    all += (all.empty() ? "" : ", ") + w.name_;
  }
  throw Error(str("rpc: no worker is '", name, "'; there are ", all));
}
const WorkerInfo& Agent::worker(int64_t id) const {
  CRESSET_CHECK(id >= 0 && id < static_cast<int64_t>(workers().size()), "rpc: no worker is ", id, "; there are ", workers().size());
  return workers()[static_cast<size_t>(id)];
}

void Agent::ask(int to, const std::string& request, Time timeout, Done done) { state_->ask(worker(to).id_, request, timeout, std::move(done)); }
void Agent::reply(uint64_t ticket, const std::string& answer) { state_->reply(ticket, answer); }

bool Agent::wait_idle(Time timeout) {
  std::unique_lock<std::mutex> lock(state_->mutex);
  auto is_idle = [&] { return state_->pending.empty() && state_->finishing == 0; };
  if (timeout.count() > 0) return state_->idle.wait_until(lock, after(timeout), is_idle);
  state_->idle.wait(lock, is_idle);
  return true;
}

void Agent::meet(const std::string& point, Time timeout) {
  const std::string key = "meet/" + point;
  const auto size = static_cast<int64_t>(workers().size());
  const Deadline end = after(timeout.count() > 0 ? timeout : std::chrono::minutes(30));
  Store& store = *state_->store;
  if (store.add(key + "/count", 1) >= size) store.set(key + "/all", std::string("1"));
  store.wait({key + "/all"}, std::max(Time(1), std::chrono::duration_cast<Time>(end - std::chrono::steady_clock::now())));
  // The store goes with its host: that one leaves last.
  if (store.add(key + "/left", 1) >= size) store.set(key + "/end", std::string("1"));
  if (info().id_ != 0) return;
  try {
    store.wait({key + "/end"}, std::max(Time(1), std::chrono::duration_cast<Time>(end - std::chrono::steady_clock::now())));
  } catch (const DistStoreError&) {}  // a worker that ended meanwhile needs no store
}

void Agent::close() { state_->close(); }

}  // namespace cresset::distributed::rpc
