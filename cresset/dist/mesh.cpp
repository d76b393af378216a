#include "cresset/dist/mesh.h"

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "cresset/base/error.h"

namespace cresset::distributed {

namespace {

// Tries before a rank goes to sleep: the answer of a rank that is at the same place comes within microseconds.
constexpr int kSpins = 100;

struct Introduction {
  int32_t rank, channel;
};

// A head and a body on their way.
template <class Byte> struct Transfer {
  const Socket* socket;
  Byte* parts[2];
  size_t bytes[2];
  size_t at = 0;
  int part = 0;

  bool ended() const { return !socket || part == 2; }
  template <class Move> bool advance(Move&& move) {
    if (ended()) return false;
    const size_t moved = bytes[part] > at ? move(*socket, parts[part] + at, bytes[part] - at) : 0;
    at += moved;
    if (at < bytes[part]) return moved > 0;
    at = 0;
    part++;
    return true;
  }
};

}  // namespace

const char* collective_name(Collective c) {
  static constexpr const char* kNames[] = {"all_reduce", "reduce", "broadcast", "all_gather", "gather", "scatter", "reduce_scatter", "all_to_all", "barrier"};
  const auto i = static_cast<size_t>(c);
  return i < std::size(kNames) ? kNames[i] : "an unknown operation";
}

std::vector<Peer> connect_peers(Store& store, int rank, int size, Deadline deadline) {
  std::vector<Peer> peers(static_cast<size_t>(size));
  if (size == 1) return peers;
  const Socket listening = Socket::listen("", 0);
  store.set(str("rank ", rank), str(listening.local_port(), " ", store.own_host()));
  for (int other = 0; other < rank; other++) {
    const std::string address = store.get(str("rank ", other));
    const size_t space = address.find(' ');
    for (int32_t channel = 0; channel < 2; channel++) {
      Socket s = Socket::connect(address.substr(space + 1), static_cast<uint16_t>(std::stoi(address)), deadline);
      s.set_peer(str("rank ", other));
      const Introduction me{rank, channel};
      s.send(&me, sizeof me, deadline);
      (channel ? peers[static_cast<size_t>(other)].messages : peers[static_cast<size_t>(other)].collectives) = std::move(s);
    }
  }
  for (int left = 2 * (size - 1 - rank); left > 0;) {
    Socket s = listening.accept(deadline);
    Introduction who{};
    s.receive(&who, sizeof who, deadline);
    if (who.rank <= rank || who.rank >= size || who.channel < 0 || who.channel > 1) continue;
    s.set_peer(str("rank ", who.rank));
    Peer& peer = peers[static_cast<size_t>(who.rank)];
    Socket& slot = who.channel ? peer.messages : peer.collectives;
    CRESSET_CHECK(!slot.open(), "dist: two processes say that they are rank ", who.rank);
    slot = std::move(s);
    left--;
  }
  return peers;
}

void Mesh::begin(Collective what, ScalarType dtype, Deadline deadline) {
  current_ = {current_.sequence + 1, static_cast<uint16_t>(what), static_cast<uint16_t>(dtype), 0};
  deadline_ = deadline;
}

void Mesh::check(const Head& got, int from) const {
  auto describe = [](const Head& h) {
    return str(collective_name(static_cast<Collective>(h.what)), " of ", static_cast<ScalarType>(h.dtype), " with ", h.bytes, " bytes (call ", h.sequence, ")");
  };
  CRESSET_CHECK(std::memcmp(&got, &current_, sizeof got) == 0, "dist: the ranks do not call the same: rank ", rank_, " is at ", describe(current_), ", rank ",
                from, " at ", describe(got));
}

void Mesh::exchange(int to, const void* out, size_t out_bytes, int from, void* in, size_t in_bytes) {
  Head sent = current_, got{};
  sent.bytes = out_bytes;
  current_.bytes = in_bytes;
  Transfer<const char> going{
      to < 0 ? nullptr : &sockets_[static_cast<size_t>(to)], {reinterpret_cast<const char*>(&sent), static_cast<const char*>(out)}, {sizeof sent, out_bytes}};
  Transfer<char> coming{
      from < 0 ? nullptr : &sockets_[static_cast<size_t>(from)], {reinterpret_cast<char*>(&got), static_cast<char*>(in)}, {sizeof got, in_bytes}};
  for (int idle = 0; !going.ended() || !coming.ended();) {
    bool moved = going.advance([](const Socket& s, const char* data, size_t n) { return s.try_send(data, n); });
    const int part = coming.part;
    moved |= coming.advance([](const Socket& s, char* data, size_t n) { return s.try_receive(data, n); });
    if (part == 0 && coming.part == 1) check(got, from);
    if (moved) {
      idle = 0;
      continue;
    }
    if (++idle < kSpins) {
      sched_yield();
      continue;
    }
    pollfd waiting[2];
    nfds_t n = 0;
    if (!going.ended()) waiting[n++] = {going.socket->fd(), POLLOUT, 0};
    if (!coming.ended()) waiting[n++] = {coming.socket->fd(), POLLIN, 0};
    const int ready = poll(waiting, n, poll_time(deadline_));
    CRESSET_CHECK(ready != 0, "dist: ", collective_name(static_cast<Collective>(current_.what)), ": the time is up while waiting for ",
                  !coming.ended() ? coming.socket->peer() : going.socket->peer());
  }
}

Mailbox::Mailbox(int rank, std::vector<Socket> sockets) : rank_(rank), sockets_(std::move(sockets)), lost_(sockets_.size()) {
  for (size_t i = 0; i < sockets_.size(); i++) sending_.push_back(std::make_unique<std::mutex>());
  CRESSET_CHECK(pipe(wake_) == 0, "dist: pipe failed: ", std::strerror(errno));
}

Mailbox::~Mailbox() {
  close(wake_[1]);
  if (thread_.joinable()) thread_.join();
  close(wake_[0]);
}

void Mailbox::start() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { take_in(); });
}

void Mailbox::send(int to, int64_t tag, const void* data, size_t bytes, Deadline deadline) {
  start();
  const Head head{tag, bytes};
  const auto peer = static_cast<size_t>(to);
  const std::lock_guard<std::mutex> lock(*sending_[peer]);
  sockets_[peer].send(&head, sizeof head, deadline);
  sockets_[peer].send(data, bytes, deadline);
}

void Mailbox::fill(Receive& r, int from, const void* data, size_t bytes) {
  r.source = from;
  if (r.bytes == bytes) std::memcpy(r.data, data, bytes);
  else r.error = str("recv: expected ", r.bytes, " bytes from rank ", from, " with tag ", r.tag, ", got ", bytes);
  r.done = true;
}

std::shared_ptr<Mailbox::Receive> Mailbox::post(int from, int64_t tag, void* data, size_t bytes) {
  start();
  auto r = std::make_shared<Receive>(Receive{from, tag, data, bytes, false, -1, {}});
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto at = std::find_if(messages_.begin(), messages_.end(), [&](const Message& m) { return matches(*r, m.from, m.tag); });
  if (at != messages_.end()) {
    fill(*r, at->from, at->bytes.data(), at->bytes.size());
    messages_.erase(at);
  } else if (from >= 0 && !lost_[static_cast<size_t>(from)].empty()) {
    r->error = lost_[static_cast<size_t>(from)];
    r->done = true;
  } else {
    posted_.push_back(r);
  }
  return r;
}

bool Mailbox::done(const Receive& r) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return r.done;
}

bool Mailbox::wait(Receive& r, Deadline deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (arrived_.wait_until(lock, deadline, [&] { return r.done; })) return true;
  posted_.remove_if([&](const auto& p) { return p.get() == &r; });
  return false;
}

void Mailbox::take_message(int from) {
  const Socket& socket = sockets_[static_cast<size_t>(from)];
  const Deadline end = after(std::chrono::minutes(5));
  Head head{};
  socket.receive(&head, sizeof head, end);
  Message message{from, head.tag, std::vector<char>(head.bytes)};
  socket.receive(message.bytes.data(), head.bytes, end);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto at = std::find_if(posted_.begin(), posted_.end(), [&](const auto& r) { return matches(*r, from, head.tag); });
  if (at == posted_.end()) {
    messages_.push_back(std::move(message));
    return;
  }
  fill(**at, from, message.bytes.data(), message.bytes.size());
  posted_.erase(at);
  arrived_.notify_all();
}

void Mailbox::take_in() {
  for (;;) {
    std::vector<pollfd> polled = {{wake_[0], POLLIN, 0}};
    std::vector<int> ranks;
    for (int r = 0; r < static_cast<int>(sockets_.size()); r++) {
      if (r == rank_ || !lost_[static_cast<size_t>(r)].empty()) continue;
      polled.push_back({sockets_[static_cast<size_t>(r)].fd(), POLLIN, 0});
      ranks.push_back(r);
    }
    if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
    if (polled[0].revents) return;
    for (size_t i = 0; i < ranks.size(); i++) {
      if (!polled[i + 1].revents) continue;
      try {
        take_message(ranks[i]);
      } catch (const std::exception& e) {
        const std::lock_guard<std::mutex> lock(mutex_);
        lost_[static_cast<size_t>(ranks[i])] = e.what();
        posted_.remove_if([&](const auto& r) {
          if (r->from != ranks[i]) return false;
          r->error = e.what();
          return r->done = true;
        });
        arrived_.notify_all();
      }
    }
  }
}

}  // namespace cresset::distributed
