#include "cresset/dist/transport/shm/mailbox.h"

#include <algorithm>
#include <cstring>

namespace cresset::distributed::shm {

struct Mailbox::Operation final : Transfer {
  Operation(Mailbox& b, bool s, int p, uint64_t t, char* d, size_t n) : box(b), sends(s), peer(p), tag(t), data(d), bytes(n) {}
  Mailbox& box;
  const bool sends;
  const int peer;  // -1: from any rank
  const uint64_t tag;
  char* data;
  const size_t bytes;
  std::shared_ptr<const void> keep;  // owns `data`
  size_t at = 0;                     // of a send: the head counts too
  int from = -1;
  bool ended = false;
  std::string error;

  bool done() override {
    const std::lock_guard<std::mutex> lock(box.mutex_);
    box.advance();
    return ended;
  }
  void wait(Deadline deadline) override { box.wait(*this, deadline); }
  int source() const override { return from; }
  std::string described() const {
    const std::string whom = peer < 0 ? "any rank" : str("rank ", peer);
    return str(sends ? "send to " : "recv from ", whom, " with tag ", tag);
  }
};

namespace {

constexpr int kPolls = 2000;

}  // namespace

Mailbox::Mailbox(Segment& segment) : segment_(segment), sending_(static_cast<size_t>(segment.size())), incoming_(static_cast<size_t>(segment.size())) {}

Mailbox::~Mailbox() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  segment_.ring_bell(segment_.rank());
  if (thread_.joinable()) thread_.join();
}

size_t Mailbox::room(int to) {
  Ring& ring = segment_.ring(segment_.rank(), to);
  return segment_.ring_bytes() - (ring.written.load(std::memory_order_relaxed) - ring.read.load(std::memory_order_acquire));
}
size_t Mailbox::filled(int from) {
  Ring& ring = segment_.ring(from, segment_.rank());
  return ring.written.load(std::memory_order_acquire) - ring.read.load(std::memory_order_relaxed);
}
void Mailbox::copy_in(int to, const void* data, size_t bytes) {
  Ring& ring = segment_.ring(segment_.rank(), to);
  char* const memory = segment_.ring_data(segment_.rank(), to);
  const uint64_t written = ring.written.load(std::memory_order_relaxed);
  const size_t start = written % segment_.ring_bytes(), first = std::min(bytes, segment_.ring_bytes() - start);
  std::memcpy(memory + start, data, first);
  std::memcpy(memory, static_cast<const char*>(data) + first, bytes - first);
  ring.written.store(written + bytes, std::memory_order_release);
}
void Mailbox::copy_out(int from, void* data, size_t bytes) {
  Ring& ring = segment_.ring(from, segment_.rank());
  const char* const memory = segment_.ring_data(from, segment_.rank());
  const uint64_t read = ring.read.load(std::memory_order_relaxed);
  const size_t start = read % segment_.ring_bytes(), first = std::min(bytes, segment_.ring_bytes() - start);
  if (data) {
    std::memcpy(data, memory + start, first);
    std::memcpy(static_cast<char*>(data) + first, memory, bytes - first);
  }
  ring.read.store(read + bytes, std::memory_order_release);
}

// Whether anything has moved.
bool Mailbox::push(int to) {
  auto& queue = sending_[static_cast<size_t>(to)];
  bool moved = false;
  while (!queue.empty()) {
    Operation& o = *queue.front();
    const size_t free = room(to);
    if (o.at == 0) {
      if (free < sizeof(Head)) break;
      const Head head{o.tag, o.bytes};
      copy_in(to, &head, sizeof head);
      o.at = sizeof head;
      moved = true;
      continue;
    }
    const size_t left = sizeof(Head) + o.bytes - o.at, part = std::min(left, free);
    if (part) {
      copy_in(to, o.data + (o.at - sizeof(Head)), part);
      o.at += part;
      moved = true;
    }
    if (part < left) break;
    o.ended = true;
    queue.pop_front();
  }
  if (moved) segment_.ring_bell(to);
  return moved;
}

// The receive that was first to ask for a message; null where none has.
std::shared_ptr<Mailbox::Operation> Mailbox::asked_for(int from, const Head& head) {
  const auto at = std::find_if(posted_.begin(), posted_.end(), [&](const auto& o) { return (o->peer < 0 || o->peer == from) && o->tag == head.tag; });
  if (at == posted_.end()) return nullptr;
  std::shared_ptr<Operation> o = std::move(*at);
  posted_.erase(at);
  o->from = from;
  if (o->bytes != head.bytes) o->error = str("dist: recv: expected ", o->bytes, " bytes from rank ", from, " with tag ", head.tag, ", got ", head.bytes);
  return o;
}

void Mailbox::begin(int from, Incoming& in) {
  in.open = true;
  in.got = 0;
  in.to = asked_for(from, in.head);
  if (!in.to) in.bytes.resize(in.head.bytes);
}

void Mailbox::finish(int from, Incoming& in) {
  in.open = false;
  // A receive that began while the message came.
  if (!in.to && (in.to = asked_for(from, in.head)) && in.to->error.empty()) std::memcpy(in.to->data, in.bytes.data(), in.bytes.size());
  if (in.to) in.to->ended = true;
  else kept_.push_back({from, in.head.tag, std::move(in.bytes)});
  in.to = nullptr;
  in.bytes = {};
}

bool Mailbox::pull(int from) {
  Incoming& in = incoming_[static_cast<size_t>(from)];
  bool moved = false;
  for (;;) {
    const size_t there = filled(from);
    if (!in.open) {
      if (there < sizeof(Head)) break;
      copy_out(from, &in.head, sizeof in.head);
      begin(from, in);
      moved = true;
      continue;
    }
    const size_t left = in.head.bytes - in.got, part = std::min(left, there);
    if (part) {
      char* const base = !in.to ? in.bytes.data() : in.to->error.empty() ? in.to->data : nullptr;
      copy_out(from, base ? base + in.got : nullptr, part);
      in.got += part;
      moved = true;
    }
    if (part < left) break;
    finish(from, in);
  }
  if (moved) segment_.ring_bell(from);
  return moved;
}

void Mailbox::advance() {
  bool moved = false;
  for (int r = 0; r < segment_.size(); r++) {
    if (r == segment_.rank()) continue;
    moved |= push(r);
    moved |= pull(r);
  }
  if (moved) changed_.notify_all();
}

// Ends what waits for ranks that are gone.
void Mailbox::fail_lost() {
  bool others = false;
  std::string lost;
  for (int r = 0; r < segment_.size(); r++) {
    if (r == segment_.rank()) continue;
    std::string why = aborted_.empty() ? segment_.gone(r) : aborted_;
    if (why.empty()) {
      others = true;
      continue;
    }
    if (filled(r) >= sizeof(Head)) continue;
    why = "dist: " + why;
    lost = why;
    auto fail = [&](Operation& o) {
      o.error = why;
      o.ended = true;
    };
    for (const auto& o : sending_[static_cast<size_t>(r)]) fail(*o);
    sending_[static_cast<size_t>(r)].clear();
    if (incoming_[static_cast<size_t>(r)].open && incoming_[static_cast<size_t>(r)].to) fail(*incoming_[static_cast<size_t>(r)].to);
    incoming_[static_cast<size_t>(r)] = {};
    posted_.remove_if([&](const auto& o) {
      if (o->peer != r) return false;
      fail(*o);
      return true;
    });
  }
  if (!others && !lost.empty()) {
    for (const auto& o : posted_) {
      o->error = lost;
      o->ended = true;
    }
    posted_.clear();
  }
  changed_.notify_all();
}

bool Mailbox::idle() const {
  return posted_.empty() && std::all_of(sending_.begin(), sending_.end(), [](const auto& q) { return q.empty(); }) &&
         std::none_of(incoming_.begin(), incoming_.end(), [](const Incoming& in) { return in.open; });
}

void Mailbox::start_thread() {
  if (idle()) return;
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
}

void Mailbox::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!closing_) {
    const uint32_t seen = segment_.state(segment_.rank()).bell.load(std::memory_order_seq_cst);
    advance();
    if (idle()) {
      changed_.wait(lock, [&] { return closing_ || !idle(); });
      continue;
    }
    fail_lost();
    lock.unlock();
    segment_.listen(seen, Deadline::max());
    lock.lock();
  }
}

std::shared_ptr<Transfer> Mailbox::send(int to, uint64_t tag, ConstPiece data, std::shared_ptr<const void> keep) {
  auto o = std::make_shared<Operation>(*this, true, to, tag, static_cast<char*>(const_cast<void*>(data.data)), data.bytes);
  o->keep = std::move(keep);
  const std::lock_guard<std::mutex> lock(mutex_);
  sending_[static_cast<size_t>(to)].push_back(o);
  advance();
  if (!o->ended) start_thread();
  return o;
}

std::shared_ptr<Transfer> Mailbox::receive(int from, uint64_t tag, Piece data, std::shared_ptr<const void> keep) {
  auto o = std::make_shared<Operation>(*this, false, from, tag, static_cast<char*>(data.data), data.bytes);
  o->keep = std::move(keep);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto at = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& k) { return (from < 0 || k.from == from) && k.tag == tag; });
  if (at != kept_.end()) {
    o->from = at->from;
    o->ended = true;
    if (at->bytes.size() == data.bytes) std::memcpy(data.data, at->bytes.data(), data.bytes);
    else o->error = str("dist: recv: expected ", data.bytes, " bytes from rank ", at->from, " with tag ", tag, ", got ", at->bytes.size());
    kept_.erase(at);
    return o;
  }
  posted_.push_back(o);
  advance();
  if (!o->ended) start_thread();
  return o;
}

// The caller's memory is not used from here on; what is half under way ends in a copy.
void Mailbox::withdraw(Operation& o) {
  posted_.remove_if([&](const auto& p) { return p.get() == &o; });
  for (Incoming& in : incoming_)
    if (in.open && in.to.get() == &o) o.error = "dist: the receive was withdrawn";
  if (!o.sends) return;
  auto& queue = sending_[static_cast<size_t>(o.peer)];
  if (o.at == 0) {
    queue.erase(std::remove_if(queue.begin(), queue.end(), [&](const auto& p) { return p.get() == &o; }), queue.end());
    return;
  }
  const auto copy = std::make_shared<std::vector<char>>(o.data, o.data + o.bytes);
  o.data = copy->data();
  o.keep = copy;
}

void Mailbox::wait(Operation& o, Deadline deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (int polls = 0; !o.ended; polls++) {
    const uint32_t seen = segment_.state(segment_.rank()).bell.load(std::memory_order_seq_cst);
    advance();
    if (o.ended) break;
    if (polls < kPolls) {
      lock.unlock();
      if (polls % 16 == 15) std::this_thread::yield();
      lock.lock();
      continue;
    }
    fail_lost();
    if (o.ended) break;
    if (std::chrono::steady_clock::now() >= deadline) {
      withdraw(o);
      throw DistBackendError(str("dist: ", o.described(), ": the time is up"));
    }
    lock.unlock();
    segment_.listen(seen, deadline);
    lock.lock();
  }
  CRESSET_CHECK_AS(DistBackendError, o.error.empty(), o.error);
}

void Mailbox::abort(const std::string& reason) {
  const std::lock_guard<std::mutex> lock(mutex_);
  aborted_ = reason;
  fail_lost();
  segment_.ring_bell(segment_.rank());
}

}  // namespace cresset::distributed::shm
