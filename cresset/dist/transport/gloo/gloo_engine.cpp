// Collectives over Gloo's TCP transport, in a library of its own that is opened at first use.

#include <gloo/barrier.h>
#include <gloo/common/error.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "cresset/dist/transport/call.h"
#include "cresset/dist/transport/composed_engine.h"
#include "cresset/dist/transport/providers.h"

namespace cresset::distributed {

namespace {

using std::chrono::milliseconds;

// The meeting place that Gloo asks for, over ours.
class Meeting final : public gloo::rendezvous::Store {
 public:
  Meeting(distributed::Store& store, milliseconds timeout) : store_(store), timeout_(timeout) {}
  void set(const std::string& key, const std::vector<char>& data) override { store_.set("gloo " + key, Bytes(data.begin(), data.end())); }
  std::vector<char> get(const std::string& key) override {
    store_.wait({"gloo " + key}, timeout_);
    const Bytes bytes = store_.get("gloo " + key);
    return {bytes.begin(), bytes.end()};
  }
  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys, const milliseconds&) override {
    std::vector<std::string> marked;
    for (const std::string& key : keys) marked.push_back("gloo " + key);
    store_.wait(marked, timeout_);
  }

 private:
  distributed::Store& store_;
  const milliseconds timeout_;
};

milliseconds left(Deadline deadline) {
  return std::max(std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now()), milliseconds(1));
}

// Gloo's errors name addresses; ours, the operation and the rank.
template <class F> auto translated(const std::string& what, F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const gloo::Exception& e) { throw DistBackendError(str("dist: ", what, ": ", e.what())); }
}

// Messages of programs and of collectives have slots apart.
constexpr uint64_t kMessages = uint64_t{1} << 32;

class Message final : public Transfer {
 public:
  Message(std::shared_ptr<gloo::Context> context, Piece data, std::shared_ptr<const void> keep, bool sends)
      : context_(std::move(context)), buffer_(context_->createUnboundBuffer(data.data, data.bytes)), keep_(std::move(keep)), sends_(sends) {}
  gloo::transport::UnboundBuffer& buffer() { return *buffer_; }
  bool done() override {
    if (done_) return true;
    // Gloo has no question without a wait; a wait that is over at once would close its connections.
    return false;
  }
  void wait(Deadline deadline) override {
    if (done_) return;
    translated(sends_ ? "send" : "recv", [&] {
      const bool ended = sends_ ? buffer_->waitSend(&source_, left(deadline)) : buffer_->waitRecv(&source_, left(deadline));
      CRESSET_CHECK_AS(DistBackendError, ended, "dist: ", sends_ ? "send" : "recv", ": aborted");
    });
    done_ = true;
  }
  int source() const override { return source_; }
  void abort() {
    if (sends_) buffer_->abortWaitSend();
    else buffer_->abortWaitRecv();
  }

 private:
  const std::shared_ptr<gloo::Context> context_;
  std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
  const std::shared_ptr<const void> keep_;
  const bool sends_;
  int source_ = -1;
  bool done_ = false;
};

class GlooEngine final : public ComposedEngine {
 public:
  explicit GlooEngine(const EngineRequest& r) : context_(std::make_shared<gloo::rendezvous::Context>(r.rank, r.size)) {
    gloo::transport::tcp::attr where;
    if (!r.interface.empty()) where.iface = r.interface;
    else where.hostname = r.host;
    auto device = gloo::transport::tcp::CreateDevice(where);
    context_->setTimeout(r.timeout);
    Meeting meeting(*r.store, r.timeout);
    if (r.size == 1) return;
    context_->connectFullMesh(meeting, device);
    gloo::BarrierOptions all(context_);  // the store may go with the rank that is through first
    gloo::barrier(all);
  }
  // A rank that closes its connections while another still reads from them would take what is on its way along: all say good-bye first, unless
  // one does not answer.
  ~GlooEngine() override {
    if (size() == 1) return;
    try {
      gloo::BarrierOptions all(context_);
      all.setTag(kGoodbye);
      all.setTimeout(kPatience);
      if (!aborted_) gloo::barrier(all);
    } catch (const std::exception&) {}
    context_->closeConnections();
  }
  const char* name() const override { return "gloo"; }
  int rank() const override { return context_->rank; }
  int size() const override { return context_->size; }

  // Down a binomial tree, so that an error names the rank above or below in it.
  void broadcast(void* data, size_t bytes, const Call& call) override {
    if (size() == 1) return;
    if (bytes == 0) return barrier(call);
    const uint64_t slot = collective_slot();
    const auto at = [&](int steps) { return (call.root + steps) % size(); };
    const int own = (rank() - call.root + size()) % size();
    const auto buffer = context_->createUnboundBuffer(data, bytes);
    int reach = 1;  // ranks from the own one on that have the data from it
    while (reach < size() && !(own & reach)) reach *= 2;
    if (own) {
      const int above = at(own - reach);
      translated(str("broadcast: from rank ", above, above == call.root ? str() : str(", which has them from rank ", call.root)), [&] {
        buffer->recv(above, slot);
        buffer->waitRecv(left(call.deadline));
      });
    }
    std::vector<int> below;
    for (reach /= 2; reach; reach /= 2)
      if (own + reach < size()) below.push_back(at(own + reach));
    for (const int r : below) translated(str("broadcast: to rank ", r), [&] { buffer->send(r, slot); });
    for (const int r : below) translated(str("broadcast: to rank ", r), [&] { buffer->waitSend(left(call.deadline)); });
  }
  void barrier(const Call& call) override {
    std::vector<char> all(ranks());
    gather_all(all.data(), std::vector<size_t>(ranks(), 1), {&all[static_cast<size_t>(rank())], 1}, call);
  }

  std::shared_ptr<Transfer> send(int to, uint64_t slot, ConstPiece data, std::shared_ptr<const void> keep) override {
    auto m = made({const_cast<void*>(data.data), data.bytes}, std::move(keep), true);
    translated("send", [&] { m->buffer().send(to, kMessages + slot); });
    return m;
  }
  std::shared_ptr<Transfer> receive(int from, uint64_t slot, Piece data, std::shared_ptr<const void> keep) override {
    auto m = made(data, std::move(keep), false);
    translated("recv", [&] {
      if (from >= 0) return m->buffer().recv(from, kMessages + slot);
      std::vector<int> others;
      for (int r = 0; r < size(); r++)
        if (r != rank()) others.push_back(r);
      m->buffer().recv(others, kMessages + slot);
    });
    return m;
  }
  void abort(const std::string&) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& weak : messages_)
      if (const auto m = weak.lock()) m->abort();
    aborted_ = true;
    if (size() > 1) context_->closeConnections();
  }

 private:
  static constexpr uint32_t kGoodbye = 0xffffffff;
  static constexpr milliseconds kPatience{1000};

  uint64_t collective_slot() { return (uint64_t{1} << 40) + collectives_++; }
  std::shared_ptr<Message> made(Piece data, std::shared_ptr<const void> keep, bool sends) {
    auto m = std::make_shared<Message>(context_, data, std::move(keep), sends);
    const std::lock_guard<std::mutex> lock(mutex_);
    messages_.erase(std::remove_if(messages_.begin(), messages_.end(), [](const auto& w) { return w.expired(); }), messages_.end());
    messages_.push_back(m);
    return m;
  }
  void gather_all(void* all, std::vector<size_t> sizes, ConstPiece input, const Call& call) override {
    if (size() == 1) {
      std::memmove(all, input.data, input.bytes);
      return;
    }
    // Pair by pair, not round a ring: so that an error names the rank that is late.
    move(in_a_row(all, sizes), std::vector<ConstPiece>(ranks(), input), call);
  }
  void move(const std::vector<Piece>& outputs, const std::vector<ConstPiece>& inputs, const Call& call) override {
    const uint64_t slot = collective_slot();
    std::vector<std::pair<int, std::unique_ptr<gloo::transport::UnboundBuffer>>> in, out;
    const char* const what = collective_name(call.what);
    translated(what, [&] {
      for (int r = 0; r < size(); r++) {
        const Piece& p = outputs[static_cast<size_t>(r)];
        if (r == rank() || !p.bytes) continue;
        out.emplace_back(r, context_->createUnboundBuffer(p.data, p.bytes));
        out.back().second->recv(r, slot);
      }
      for (int r = 0; r < size(); r++) {
        const ConstPiece& p = inputs[static_cast<size_t>(r)];
        if (r == rank() || !p.bytes) continue;
        in.emplace_back(r, context_->createUnboundBuffer(const_cast<void*>(p.data), p.bytes));
        in.back().second->send(r, slot);
      }
      const Piece& own = outputs[static_cast<size_t>(rank())];
      if (own.bytes) std::memmove(own.data, inputs[static_cast<size_t>(rank())].data, own.bytes);
    });
    for (auto& [rank, b] : out) translated(str(what, ": from rank ", rank), [&, &buffer = b] { buffer->waitRecv(left(call.deadline)); });
    for (auto& [rank, b] : in) translated(str(what, ": to rank ", rank), [&, &buffer = b] { buffer->waitSend(left(call.deadline)); });
  }

  const std::shared_ptr<gloo::rendezvous::Context> context_;
  uint64_t collectives_ = 0;
  bool aborted_ = false;
  std::mutex mutex_;
  std::vector<std::weak_ptr<Message>> messages_;
};

}  // namespace

}  // namespace cresset::distributed

extern "C" CRESSET_API cresset::distributed::Engine* cresset_engine(const cresset::distributed::EngineRequest& request, std::string& message) {
  return cresset::distributed::make_engine<cresset::distributed::GlooEngine>(request, message);
}
