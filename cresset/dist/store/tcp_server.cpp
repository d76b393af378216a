#include "cresset/dist/store/tcp_server.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

namespace cresset::distributed {

namespace {

constexpr auto kHandshakeTime = std::chrono::seconds(10);

size_t texts_of(Command c) {
  switch (c) {
    case Command::Hello:
    case Command::Count:
    case Command::Keys: return 0;
    case Command::Add:
    case Command::Delete:
    case Command::Pop:
    case Command::Length: return 1;
    case Command::Set:
    case Command::Append:
    case Command::Push:
    case Command::Acquire:
    case Command::Release: return 2;
    case Command::CompareSet: return 3;
    default: return SIZE_MAX;  // as many as there are
  }
}

}  // namespace

StoreServer::StoreServer(const std::string& host, uint16_t port, std::string secret)
    : secret_(std::move(secret)), listening_(Socket::listen(host, port)), port_(listening_.local_port()) {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  CRESSET_CHECK_AS(DistNetworkError, epoll_ >= 0 && wake_ >= 0, "store: cannot make a server: ", std::strerror(errno));
  watch(wake_, false, true);
  watch(listening_.fd(), false, true);
  thread_ = std::thread([this] { serve(); });
}

StoreServer::~StoreServer() {
  if (getpid() != process_) {
    thread_.detach();  // a forked process has the object without its thread
    return;
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t woken = write(wake_, &one, sizeof one);
  thread_.join();
  close(wake_);
  close(epoll_);
}

void StoreServer::watch(int fd, bool writing, bool added) {
  epoll_event e{};
  e.events = writing ? EPOLLIN | EPOLLOUT : EPOLLIN;
  e.data.fd = fd;
  epoll_ctl(epoll_, added ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &e);
}

int StoreServer::wait_time() const {
  Clock::time_point next = Clock::time_point::max();
  if (!ends_.empty()) next = ends_.begin()->first;
  if (!handshakes_.empty()) next = std::min(next, handshakes_.begin()->first);
  return next == Clock::time_point::max() ? -1 : poll_time(next) + 1;
}

void StoreServer::serve() {
  epoll_event events[256];
  for (;;) {
    const int n = epoll_wait(epoll_, events, std::size(events), wait_time());
    if (n < 0 && errno != EINTR) return;
    for (int i = 0; i < n; i++) {
      const int fd = events[i].data.fd;
      if (fd == wake_) return;
      if (fd == listening_.fd()) accept();
      else handle(fd, events[i].events);
    }
    expire();
  }
}

void StoreServer::accept() {
  try {
    auto client = std::make_unique<Client>(listening_.accept(Clock::now()));
    const int fd = client->socket.fd();
    client->handshake = std::make_unique<ServerHandshake>(secret_, kStoreService);
    client->last_moment = Clock::now() + kHandshakeTime;
    handshakes_.insert({client->last_moment, fd});
    watch(fd, false, true);
    Client& c = *client;
    clients_[fd] = std::move(client);
    send(c, c.handshake->hello());
  } catch (const std::exception&) {}  // it has gone already
}

// A malformed message costs the client its connection, and others nothing.
void StoreServer::handle(int fd, uint32_t events) {
  const auto at = clients_.find(fd);
  if (at == clients_.end()) return;
  Client& c = *at->second;
  try {
    if (events & EPOLLOUT) send(c, "");
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
      read(c);
      take_frames(fd, c);
    }
  } catch (const std::exception&) { drop(fd); }
}

void StoreServer::read(Client& c) {
  char buffer[65536];
  for (size_t got; (got = c.socket.try_receive(buffer, sizeof buffer)) > 0;) {
    c.in.append(buffer, got);
    if (got < sizeof buffer) return;
  }
}

void StoreServer::take_frames(int fd, Client& c) {
  size_t at = 0;
  if (c.handshake) {
    if (c.in.size() < ServerHandshake::wanted()) return;
    send(c, c.handshake->accept(c.in.substr(0, ServerHandshake::wanted())));
    at = ServerHandshake::wanted();
    handshakes_.erase({c.last_moment, fd});
    c.handshake.reset();
  }
  while (c.in.size() - at >= kFrameHead) {
    const size_t size = frame_size(c.in.data() + at);
    if (c.in.size() - at - kFrameHead < size) break;
    const Frame request = decode_frame(c.in.data() + at + kFrameHead, size);
    at += kFrameHead + size;
    run(fd, c, request);
    if (!clients_.count(fd)) return;
  }
  c.in.erase(0, at);
}

void StoreServer::run(int fd, Client&, const Frame& r) {
  const auto command = static_cast<Command>(r.code);
  const size_t wanted = r.code <= static_cast<uint8_t>(Command::kLast) ? texts_of(command) : 0;
  const bool fits = r.code <= static_cast<uint8_t>(Command::kLast) && (wanted == SIZE_MAX || wanted == r.texts.size());
  CRESSET_CHECK_AS(DistNetworkError, fits, "store: not a request");
  const auto& t = r.texts;
  switch (command) {
    case Command::Hello: return reply(fd, Status::Done, ++greeted_);
    case Command::Set: table_.values[t[0]] = t[1]; break;
    case Command::Append: table_.values[t[0]] += t[1]; break;
    case Command::Push: table_.queues[t[0]].push_back(t[1]); break;
    case Command::Add:
      try {
        const int64_t sum = table_.add(t[0], r.number);
        reply(fd, Status::Done, sum);
        return changed(t[0]);
      } catch (const ValueError& e) { return reply(fd, Status::BadValue, 0, {e.message()}); }
    case Command::CompareSet: reply(fd, Status::Done, 0, {table_.compare_set(t[0], t[1], t[2])}); return changed(t[0]);
    case Command::MultiSet:
      CRESSET_CHECK_AS(DistNetworkError, t.size() % 2 == 0, "store: not a request");
      for (size_t i = 0; i < t.size(); i += 2) table_.values[t[i]] = t[i + 1];
      reply(fd, Status::Done);
      for (size_t i = 0; i < t.size(); i += 2) changed(t[i]);
      return;
    case Command::Check: return reply(fd, Status::Done, table_.has(t));
    case Command::Delete: return reply(fd, Status::Done, table_.erase(t[0]));
    case Command::Count: return reply(fd, Status::Done, table_.size());
    case Command::Length: return reply(fd, Status::Done, table_.length(t[0]));
    case Command::Keys: return reply(fd, Status::Done, 0, table_.keys());
    case Command::Acquire: return reply(fd, Status::Done, table_.acquire(t[0], t[1], std::chrono::milliseconds(r.number)));
    case Command::Release: return reply(fd, Status::Done, table_.release(t[0], t[1]));
    case Command::Wait:
    case Command::Get:
    case Command::Pop: {
      Waiter w{fd, command, t, after(std::chrono::milliseconds(std::max<int64_t>(0, r.number))), next_waiter_};
      if (try_finish(w)) return;
      if (r.number <= 0) return reply(fd, Status::TimedOut);
      for (const std::string& key : w.keys) waited_[key].insert(w.order);
      ends_.insert({w.end, w.order});
      waiters_.emplace(next_waiter_++, std::move(w));
      return;
    }
  }
  reply(fd, Status::Done);
  changed(t[0]);
}

bool StoreServer::try_finish(const Waiter& w) {
  if (w.command == Command::Pop) {
    std::string value;
    if (!table_.pop(w.keys[0], value)) return false;
    reply(w.client, Status::Done, 0, {std::move(value)});
    return true;
  }
  if (!table_.has(w.keys)) return false;
  std::vector<std::string> values;
  if (w.command == Command::Get)
    for (const std::string& key : w.keys) values.push_back(table_.values[key]);
  reply(w.client, Status::Done, 0, std::move(values));
  return true;
}

void StoreServer::changed(const std::string& key) {
  const auto at = waited_.find(key);
  if (at == waited_.end()) return;
  const std::vector<uint64_t> orders(at->second.begin(), at->second.end());
  for (const uint64_t order : orders) {
    const auto w = waiters_.find(order);
    if (w != waiters_.end() && try_finish(w->second)) forget(order);
  }
}

void StoreServer::forget(uint64_t order) {
  const auto at = waiters_.find(order);
  for (const std::string& key : at->second.keys) {
    const auto waited = waited_.find(key);
    if (waited == waited_.end()) continue;
    waited->second.erase(order);
    if (waited->second.empty()) waited_.erase(waited);
  }
  ends_.erase({at->second.end, order});
  waiters_.erase(at);
}

void StoreServer::expire() {
  const auto now = Clock::now();
  while (!ends_.empty() && ends_.begin()->first <= now) {
    const uint64_t order = ends_.begin()->second;
    reply(waiters_.at(order).client, Status::TimedOut);
    if (waiters_.count(order)) forget(order);
  }
  while (!handshakes_.empty() && handshakes_.begin()->first <= now) drop(handshakes_.begin()->second);
}

void StoreServer::send(Client& c, const std::string& bytes) {
  c.out += bytes;
  if (!c.out.empty()) c.out.erase(0, c.socket.try_send(c.out.data(), c.out.size()));
  if (c.writing != !c.out.empty()) {
    c.writing = !c.writing;
    watch(c.socket.fd(), c.writing, false);
  }
}

// A client that has gone loses its answer; the loop drops it when it sees the end of its connection.
void StoreServer::reply(int fd, Status status, int64_t number, std::vector<std::string> texts) {
  const auto at = clients_.find(fd);
  if (at == clients_.end()) return;
  try {
    send(*at->second, encode_frame({static_cast<uint8_t>(status), number, std::move(texts)}));
  } catch (const std::exception&) { at->second->out.clear(); }
}

void StoreServer::drop(int fd) {
  const auto at = clients_.find(fd);
  if (at == clients_.end()) return;
  handshakes_.erase({at->second->last_moment, fd});
  std::vector<uint64_t> orders;
  for (const auto& [order, w] : waiters_)
    if (w.client == fd) orders.push_back(order);
  for (const uint64_t order : orders) forget(order);
  clients_.erase(at);
}

}  // namespace cresset::distributed
