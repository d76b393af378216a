// Collectives over MPI, in a library of its own that is opened at first use. MPI is entered under one lock, never to wait: operations are begun, and
// asked whether they have ended, so that each ends at its deadline.

#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "cresset/dist/transport/call.h"
#include "cresset/dist/transport/composed_engine.h"
#include "cresset/dist/transport/providers.h"

namespace cresset::distributed {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw DistBackendError(str("dist: mpi: ", what, ": ", std::string(text, static_cast<size_t>(length))));
}

// The ranks of a group tell each other by notes that they have failed or left, and near the end of a call's time ask who waits as they do.
enum class Kind : char { Failed = '!', Left = '.', Asks = '?', Waits = '=' };

struct Note {
  int rank = -1;
  Kind kind = Kind::Left;
  std::string text;
  steady_clock::time_point came{};
};

// MPI in this process.
class Runtime {
 public:
  static Runtime& get() {
    static Runtime& runtime = *new Runtime();
    return runtime;
  }
  std::mutex& mutex() { return mutex_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  int last_tag() const { return last_tag_; }
  bool one_host() const { return one_host_; }
  void check_alive() const { CRESSET_CHECK_AS(DistBackendError, !ended_, "dist: mpi: MPI has ended in this process"); }

  // All below with the lock.

  // Memory that an operation still uses after its caller has given up.
  void bury(MPI_Request request, std::shared_ptr<const void> keep) { buried_.emplace_back(request, std::move(keep)); }
  void tell(const std::vector<int>& worlds, uint64_t group, Kind kind, const std::string& text) {
    if (ended_) return;
    auto bytes = std::make_shared<std::string>(reinterpret_cast<const char*>(&group), sizeof group);
    *bytes += static_cast<char>(kind);
    *bytes += text.substr(0, kLongestNote - bytes->size());
    for (const int to : worlds) {
      MPI_Request request = MPI_REQUEST_NULL;
      if (to != rank_ && MPI_Isend(bytes->data(), static_cast<int>(bytes->size()), MPI_BYTE, to, 0, notes_, &request) == MPI_SUCCESS) bury(request, bytes);
    }
  }
  // The note of a rank of a group that has failed or left, if any; who asks is told that this rank waits.
  const Note* note(uint64_t group) {
    for (;;) {
      int there = 0;
      MPI_Status status;
      if (MPI_Iprobe(MPI_ANY_SOURCE, 0, notes_, &there, &status) != MPI_SUCCESS || !there) break;
      char bytes[kLongestNote];
      if (MPI_Recv(bytes, sizeof bytes, MPI_BYTE, status.MPI_SOURCE, 0, notes_, &status) != MPI_SUCCESS) break;
      int count = 0;
      MPI_Get_count(&status, MPI_BYTE, &count);
      uint64_t to = 0;
      if (count < static_cast<int>(sizeof to) + 1) continue;
      std::memcpy(&to, bytes, sizeof to);
      const Kind kind{bytes[sizeof to]};
      if (kind == Kind::Asks) questions_[to].insert(status.MPI_SOURCE);
      if (kind == Kind::Waits) waiting_[to].insert(status.MPI_SOURCE);
      if (kind == Kind::Asks || kind == Kind::Waits) continue;
      Note& known = told_[to];
      if (known.rank < 0 || (kind == Kind::Failed && known.kind == Kind::Left))
        known = {status.MPI_SOURCE, kind, std::string(bytes + sizeof to + 1, bytes + count), steady_clock::now()};
    }
    if (const auto asked = questions_.find(group); asked != questions_.end()) {
      tell({asked->second.begin(), asked->second.end()}, group, Kind::Waits, "");
      questions_.erase(asked);
    }
    sweep();
    const auto at = told_.find(group);
    return at == told_.end() ? nullptr : &at->second;
  }
  // Asks the ranks of a group, and who has answered.
  void ask(const std::vector<int>& worlds, uint64_t group) {
    waiting_[group].clear();
    tell(worlds, group, Kind::Asks, "");
  }
  bool waits(int world, uint64_t group) { return world == rank_ || waiting_[group].count(world); }
  void open(uint64_t group, const std::vector<int>& worlds) { groups_[group] = worlds; }
  void close(uint64_t group) {
    const auto at = groups_.find(group);
    if (at == groups_.end()) return;
    tell(at->second, group, Kind::Left, "");
    groups_.erase(at);
  }
  void fail() { failed_ = true; }

 private:
  static constexpr size_t kLongestNote = 1024;

  Runtime() {
    // The parts that MPI opens look for its names among those that all see.
    Dl_info info;
    if (dladdr(reinterpret_cast<const void*>(&MPI_Init_thread), &info) && info.dli_fname) dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
    int there = 0, level = 0;
    MPI_Initialized(&there);
    if (there) MPI_Query_thread(&level);
    else check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
    CRESSET_CHECK_AS(DistBackendError, level >= MPI_THREAD_SERIALIZED, "dist: mpi: expected MPI to be begun for several threads (MPI_THREAD_SERIALIZED)");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &notes_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(notes_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(notes_, &rank_);
    MPI_Comm_size(notes_, &size_);
    void* limit = nullptr;
    int found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &limit, &found);
    last_tag_ = found ? *static_cast<int*>(limit) : 32767;
    MPI_Comm host = MPI_COMM_NULL;
    int beside = 0;
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host), "MPI_Comm_split_type");
    MPI_Comm_size(host, &beside);
    MPI_Comm_free(&host);
    one_host_ = beside == size_;
    if (!there) std::atexit([] { get().end(); });
  }

  void sweep() {
    for (size_t i = 0; i < buried_.size();) {
      int done = 0;
      if (MPI_Test(&buried_[i].first, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
        i++;
        continue;
      }
      buried_[i] = std::move(buried_.back());
      buried_.pop_back();
    }
  }
  // Not where an operation has failed: MPI would wait for a rank that may be gone. The launcher ends such a job.
  void end() {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (!groups_.empty()) close(groups_.begin()->first);
    const auto patience = steady_clock::now() + std::chrono::seconds(1);
    for (sweep(); !buried_.empty() && steady_clock::now() < patience; sweep()) std::this_thread::sleep_for(milliseconds(1));
    ended_ = true;
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!failed_ && buried_.empty() && !finalized) MPI_Finalize();
  }

  std::mutex mutex_;
  MPI_Comm notes_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1, last_tag_ = 0;
  bool one_host_ = false, failed_ = false, ended_ = false;
  std::map<uint64_t, std::vector<int>> groups_;  // those that are open, with their ranks in the world
  std::map<uint64_t, Note> told_;
  std::map<uint64_t, std::set<int>> questions_, waiting_;
  std::vector<std::pair<MPI_Request, std::shared_ptr<const void>>> buried_;
};

// So many bytes as one element of MPI, whose counts are ints.
class Block {
 public:
  explicit Block(size_t bytes) {
    if (bytes <= INT_MAX) {
      count_ = static_cast<int>(bytes);
      return;
    }
    constexpr size_t kRow = size_t{1} << 30;
    MPI_Datatype row = MPI_DATATYPE_NULL, parts[2] = {MPI_DATATYPE_NULL, MPI_BYTE};
    check(MPI_Type_contiguous(static_cast<int>(kRow), MPI_BYTE, &row), "MPI_Type_contiguous");
    parts[0] = row;
    int counts[2] = {static_cast<int>(bytes / kRow), static_cast<int>(bytes % kRow)};
    MPI_Aint places[2] = {0, static_cast<MPI_Aint>(bytes / kRow * kRow)};
    check(MPI_Type_create_struct(2, counts, places, parts, &type_), "MPI_Type_create_struct");
    check(MPI_Type_commit(&type_), "MPI_Type_commit");
    MPI_Type_free(&row);
    count_ = 1;
  }
  Block(const Block&) = delete;
  ~Block() {
    if (type_ != MPI_BYTE) MPI_Type_free(&type_);
  }
  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }

 private:
  int count_ = 0;
  MPI_Datatype type_ = MPI_BYTE;
};

// A group's place in MPI.
struct Place {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 1;
  uint64_t id = 0;
  std::vector<int> worlds;  // the ranks in the world, by those in the group
  std::string aborted;

  int from_world(int world) const { return static_cast<int>(std::find(worlds.begin(), worlds.end(), world) - worlds.begin()); }

  // Asks `done`, with the lock, until it says yes. Where all ranks call the operation, the error of one that is late names it.
  template <class Done> void wait(Deadline deadline, const char* what, bool by_all, Done&& done) {
    Runtime& mpi = Runtime::get();
    bool asked = !by_all;
    std::chrono::nanoseconds patience{};
    for (uint64_t round = 0;; round++) {
      {
        const std::lock_guard<std::mutex> lock(mpi.mutex());
        mpi.check_alive();
        if (done()) return;
        CRESSET_CHECK_AS(DistBackendError, aborted.empty(), "dist: mpi: ", what, ": ", aborted);
        if (round % kAskForNotes == kAskForNotes - 1)
          if (const Note* note = mpi.note(id)) {
            CRESSET_CHECK_AS(DistBackendError, note->kind != Kind::Failed, "dist: mpi: ", what, ": rank ", from_world(note->rank), " has failed: ", note->text);
            // Its last messages may still be on their way.
            CRESSET_CHECK_AS(DistBackendError, steady_clock::now() < note->came + std::chrono::seconds(1), "dist: mpi: ", what, ": rank ",
                             from_world(note->rank), " has left the group");
          }
        if (round == kAskForNotes) patience = std::min<std::chrono::nanoseconds>((deadline - steady_clock::now()) / 4, milliseconds(200));
        if (!asked && round > kAskForNotes && steady_clock::now() > deadline - patience) {
          mpi.ask(worlds, id);
          asked = true;
        }
      }
      CRESSET_CHECK_AS(DistBackendError, steady_clock::now() < deadline, "dist: mpi: ", what, ": the time is up", by_all ? lacking() : std::string());
      if (round > kSpins) sched_yield();
      if (round > kYields) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

 private:
  std::string lacking() const {
    Runtime& mpi = Runtime::get();
    const std::lock_guard<std::mutex> lock(mpi.mutex());
    std::string late;
    for (int r = 0; r < size; r++)
      if (!mpi.waits(worlds[static_cast<size_t>(r)], id)) late += str(late.empty() ? " (waiting for rank " : ", ", r);
    return late.empty() ? " (all ranks wait: TORCH_DISTRIBUTED_DEBUG=DETAIL compares their calls)" : late + ")";
  }

  static constexpr uint64_t kAskForNotes = 64, kSpins = 20, kYields = 20000;
};

class Message final : public Transfer {
 public:
  Message(std::shared_ptr<Place> place, MPI_Request request, Piece data, int other, int tag, bool sends, std::shared_ptr<const void> keep)
      : place_(std::move(place)), request_(request), data_(data), other_(other), tag_(tag), sends_(sends), keep_(std::move(keep)) {}
  ~Message() override { give_up(); }
  bool done() override {
    Runtime& mpi = Runtime::get();
    const std::lock_guard<std::mutex> lock(mpi.mutex());
    return ask();
  }
  void wait(Deadline deadline) override {
    const std::string what = str(sends_ ? "send to" : "recv from", " ", other_ < 0 ? std::string("any rank") : str("rank ", other_), " with tag ", tag_);
    try {
      place_->wait(deadline, what.c_str(), false, [&] { return ask(); });
    } catch (const std::exception&) {
      give_up();
      throw;
    }
    CRESSET_CHECK_AS(DistBackendError, code_ != MPI_ERR_TRUNCATE && (sends_ || code_ != MPI_SUCCESS || got_ == static_cast<MPI_Count>(data_.bytes)),
                     "dist: recv: expected ", data_.bytes, " bytes from rank ", source_, " with tag ", tag_, ", got ",
                     code_ == MPI_ERR_TRUNCATE ? std::string("more") : std::to_string(static_cast<long long>(got_)));
    check(code_, what.c_str());
  }
  int source() const override { return source_; }

 private:
  bool ask() {
    if (done_) return true;
    int ended = 0;
    MPI_Status status;
    int code = MPI_Test(&request_, &ended, &status);
    if (code == MPI_SUCCESS && !ended) return false;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &code_);
    if (code == MPI_SUCCESS && !sends_) {
      const Block block(data_.bytes);
      MPI_Get_elements_x(&status, block.type(), &got_);
    }
    source_ = sends_ ? -1 : code_ == MPI_SUCCESS ? status.MPI_SOURCE : other_;
    return done_ = true;
  }
  // MPI goes on with a message that was begun: its memory stays.
  void give_up() {
    if (done_) return;
    Runtime& mpi = Runtime::get();
    const std::lock_guard<std::mutex> lock(mpi.mutex());
    if (ask()) return;
    done_ = true;
    if (!sends_) MPI_Cancel(&request_);
    mpi.bury(request_, keep_);
  }

  const std::shared_ptr<Place> place_;
  MPI_Request request_;
  const Piece data_;
  const int other_, tag_;
  const bool sends_;
  const std::shared_ptr<const void> keep_;
  int source_ = -1, code_ = MPI_SUCCESS;
  MPI_Count got_ = 0;
  bool done_ = false;
};

class MpiEngine final : public ComposedEngine {
 public:
  explicit MpiEngine(const EngineRequest& r) : place_(std::make_shared<Place>()) {
    Runtime& mpi = Runtime::get();
    Place& p = *place_;
    p.rank = r.rank;
    p.size = r.size;
    r.store->set(str("mpi ", r.rank), std::to_string(mpi.rank()));
    static std::atomic<uint32_t> made{0};
    if (r.rank == 0) r.store->set("mpi group", std::to_string((static_cast<uint64_t>(mpi.rank()) << 32) + ++made));
    std::vector<std::string> keys = {"mpi group"};
    for (int rank = 0; rank < r.size; rank++) keys.push_back(str("mpi ", rank));
    r.store->wait(keys, r.timeout);
    p.id = std::stoull(r.store->get_to_str(keys[0]));
    for (size_t i = 1; i < keys.size(); i++) p.worlds.push_back(std::stoi(r.store->get_to_str(keys[i])));
    std::vector<int> different = p.worlds;
    std::sort(different.begin(), different.end());
    CRESSET_CHECK_AS(DistBackendError, std::unique(different.begin(), different.end()) == different.end() && different.back() < mpi.size(),
                     "expected all ranks to be processes of one mpirun; MPI has ", mpi.size(), " here");
    const std::lock_guard<std::mutex> lock(mpi.mutex());
    mpi.check_alive();
    MPI_Group world = MPI_GROUP_NULL, own = MPI_GROUP_NULL;
    check(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
    check(MPI_Group_incl(world, r.size, p.worlds.data(), &own), "MPI_Group_incl");
    // Never freed: a message that comes too late must not meet a later group with the same number.
    check(MPI_Comm_create_group(MPI_COMM_WORLD, own, 0, &p.comm), "MPI_Comm_create_group");
    MPI_Group_free(&own);
    MPI_Group_free(&world);
    MPI_Comm_set_errhandler(p.comm, MPI_ERRORS_RETURN);
    mpi.open(p.id, p.worlds);
  }
  ~MpiEngine() override {
    Runtime& mpi = Runtime::get();
    const std::lock_guard<std::mutex> lock(mpi.mutex());
    mpi.close(place_->id);
  }
  const char* name() const override { return "mpi"; }
  int rank() const override { return place_->rank; }
  int size() const override { return place_->size; }

  void broadcast(void* data, size_t bytes, const Call& call) override {
    if (bytes == 0) return barrier(call);
    auto row = std::make_shared<std::vector<char>>(bytes);
    if (rank() == call.root) std::memcpy(row->data(), data, bytes);
    together(call, row, [&](MPI_Request* request) {
      const Block block(bytes);
      return MPI_Ibcast(row->data(), block.count(), block.type(), call.root, place_->comm, request);
    });
    if (rank() != call.root) std::memcpy(data, row->data(), bytes);
  }
  void barrier(const Call& call) override {
    together(call, nullptr, [&](MPI_Request* request) { return MPI_Ibarrier(place_->comm, request); });
  }
  std::shared_ptr<Transfer> send(int to, uint64_t tag, ConstPiece data, std::shared_ptr<const void> keep) override {
    return begun({const_cast<void*>(data.data), data.bytes}, to, tag, true, std::move(keep));
  }
  std::shared_ptr<Transfer> receive(int from, uint64_t tag, Piece data, std::shared_ptr<const void> keep) override {
    return begun(data, from, tag, false, std::move(keep));
  }
  void abort(const std::string& reason) override {
    Runtime& mpi = Runtime::get();
    const std::lock_guard<std::mutex> lock(mpi.mutex());
    if (place_->aborted.empty()) mpi.tell(place_->worlds, place_->id, Kind::Failed, reason);
    place_->aborted = reason;
    mpi.fail();
  }

 protected:
  void gather_all(void* all, std::vector<size_t> sizes, ConstPiece input, const Call& call) override {
    size_t total = 0;
    std::vector<int> counts, places;
    for (const size_t n : sizes) {
      places.push_back(static_cast<int>(std::min<size_t>(total, INT_MAX)));
      counts.push_back(static_cast<int>(std::min<size_t>(n, INT_MAX)));
      total += n;
    }
    if (total > INT_MAX) {
      std::vector<Piece> out;
      for (size_t r = 0, at = 0; r < sizes.size(); at += sizes[r++]) out.push_back({static_cast<char*>(all) + at, sizes[r]});
      return move(out, std::vector<ConstPiece>(sizes.size(), input), call);
    }
    // MPI may write when the call has failed already, so it does so to memory that stays.
    struct Memory {
      std::vector<char> in, out;
      std::vector<int> counts, places;
    };
    const auto* data = static_cast<const char*>(input.data);
    auto memory = std::make_shared<Memory>(Memory{{data, data + input.bytes}, std::vector<char>(total), std::move(counts), std::move(places)});
    together(call, memory, [&](MPI_Request* request) {
      return MPI_Iallgatherv(memory->in.data(), static_cast<int>(input.bytes), MPI_BYTE, memory->out.data(), memory->counts.data(), memory->places.data(),
                             MPI_BYTE, place_->comm, request);
    });
    if (total) std::memcpy(all, memory->out.data(), total);
  }
  void move(const std::vector<Piece>& outputs, const std::vector<ConstPiece>& inputs, const Call& call) override {
    std::vector<MPI_Request> requests;
    std::vector<int> others;
    Runtime& mpi = Runtime::get();
    {
      const std::lock_guard<std::mutex> lock(mpi.mutex());
      mpi.check_alive();
      for (int r = 0; r < size(); r++) {
        const Piece& p = outputs[static_cast<size_t>(r)];
        if (r == rank() || !p.bytes) continue;
        const Block block(p.bytes);
        requests.push_back(MPI_REQUEST_NULL);
        others.push_back(r);
        check(MPI_Irecv(p.data, block.count(), block.type(), r, mpi.last_tag(), place_->comm, &requests.back()), collective_name(call.what));
      }
      for (int r = 0; r < size(); r++) {
        const ConstPiece& p = inputs[static_cast<size_t>(r)];
        if (r == rank() || !p.bytes) continue;
        const Block block(p.bytes);
        requests.push_back(MPI_REQUEST_NULL);
        others.push_back(r);
        check(MPI_Isend(p.data, block.count(), block.type(), r, mpi.last_tag(), place_->comm, &requests.back()), collective_name(call.what));
      }
    }
    const Piece& own = outputs[static_cast<size_t>(rank())];
    if (own.bytes) std::memmove(own.data, inputs[static_cast<size_t>(rank())].data, own.bytes);
    size_t at = 0;
    try {
      place_->wait(call.deadline, collective_name(call.what), false, [&] {
        for (; at < requests.size(); at++) {
          int done = 0;
          check(MPI_Test(&requests[at], &done, MPI_STATUS_IGNORE), collective_name(call.what));
          if (!done) return false;
        }
        return true;
      });
    } catch (const std::exception& e) {
      const std::lock_guard<std::mutex> lock(mpi.mutex());
      for (size_t i = at; i < requests.size(); i++) {
        // A receive that was not begun by the other side ends here, so that the caller has its memory back.
        if (requests[i] != MPI_REQUEST_NULL) MPI_Cancel(&requests[i]);
        mpi.bury(requests[i], nullptr);
      }
      throw DistBackendError(str(e.what(), at < others.size() ? str(" (waiting for rank ", others[at], ")") : std::string()));
    }
  }

 private:
  // An operation of all ranks, which MPI may go on with after it has failed here: `keep` owns its memory.
  template <class Begin> void together(const Call& call, std::shared_ptr<const void> keep, Begin&& begin) {
    Runtime& mpi = Runtime::get();
    MPI_Request request = MPI_REQUEST_NULL;
    const char* const what = collective_name(call.what);
    {
      const std::lock_guard<std::mutex> lock(mpi.mutex());
      mpi.check_alive();
      check(begin(&request), what);
    }
    try {
      place_->wait(call.deadline, what, true, [&] {
        int done = 0;
        check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), what);
        return done != 0;
      });
    } catch (const std::exception&) {
      const std::lock_guard<std::mutex> lock(mpi.mutex());
      mpi.bury(request, std::move(keep));
      throw;
    }
  }
  std::shared_ptr<Transfer> begun(Piece data, int other, uint64_t tag, bool sends, std::shared_ptr<const void> keep) {
    Runtime& mpi = Runtime::get();
    const std::lock_guard<std::mutex> lock(mpi.mutex());
    mpi.check_alive();
    CRESSET_CHECK_VALUE(tag < static_cast<uint64_t>(mpi.last_tag()), "dist: mpi: expected a tag below ", mpi.last_tag(), ", got ", tag);
    const Block block(data.bytes);
    const int number = static_cast<int>(tag);
    MPI_Request request = MPI_REQUEST_NULL;
    if (sends) check(MPI_Isend(data.data, block.count(), block.type(), other, number, place_->comm, &request), "send");
    else check(MPI_Irecv(data.data, block.count(), block.type(), other < 0 ? MPI_ANY_SOURCE : other, number, place_->comm, &request), "recv");
    return std::make_shared<Message>(place_, request, data, other, number, sends, std::move(keep));
  }

  const std::shared_ptr<Place> place_;
};

template <class F> auto told(std::string& message, F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::exception& e) { message = e.what(); }
  return {};
}

}  // namespace

}  // namespace cresset::distributed

extern "C" CRESSET_API cresset::distributed::Engine* cresset_engine(const cresset::distributed::EngineRequest& request, std::string& message) {
  return cresset::distributed::make_engine<cresset::distributed::MpiEngine>(request, message);
}

// The place that mpirun has given this process, and the text of rank 0, which it passes to all.
extern "C" CRESSET_API bool cresset_job(cresset::distributed::JobRequest& job, std::string& message) {
  using namespace cresset::distributed;
  return told(message, [&] {
    Runtime& mpi = Runtime::get();
    job.rank = mpi.rank();
    job.size = mpi.size();
    std::string text;
    uint64_t head[2] = {1, 0};  // whether rank 0 has a text, and its length
    if (job.rank == 0) {
      try {
        text = job.text(mpi.one_host());
      } catch (const std::exception& e) {
        head[0] = 0;
        text = e.what();
      }
      head[1] = text.size();
    }
    const std::lock_guard<std::mutex> lock(mpi.mutex());
    mpi.check_alive();
    check(MPI_Bcast(head, 2, MPI_UINT64_T, 0, MPI_COMM_WORLD), "MPI_Bcast");
    text.resize(head[1]);
    check(MPI_Bcast(text.data(), static_cast<int>(head[1]), MPI_BYTE, 0, MPI_COMM_WORLD), "MPI_Bcast");
    CRESSET_CHECK_AS(DistBackendError, head[0], "rank 0: ", text);
    job.shared = text;
    return true;
  });
}
