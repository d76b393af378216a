// In a round every rank writes to its half of a slot, publishes the round, waits until all have, and reads. Halves alternate: a rank that has
// published round r + 1 has read what others wrote in round r, so that they may write over it in round r + 2. Every call begins with a head,
// which says what the rank does and how many rounds its own data take; the longest counts.

#include "cresset/dist/transport/shm/shm_engine.h"

#include <algorithm>
#include <cstring>

#include "cresset/dist/transport/call.h"
#include "cresset/dist/transport/shm/mailbox.h"

namespace cresset::distributed {

namespace {

using shm::RoundHead;
using shm::Segment;

// Up to here all ranks reduce all data, in one round.
constexpr size_t kSmallBytes = 16 << 10;
// A sum is copied while the caches near the processor hold it.
constexpr size_t kPieceBytes = 64 << 10;
// With more, a rank's part of a slot becomes too small.
constexpr int kMostRanks = 128;

size_t times(size_t bytes, size_t part) { return std::max<size_t>(1, (bytes + part - 1) / part); }
const char* at(const void* data, size_t offset) { return static_cast<const char*>(data) + offset; }
char* at(void* data, size_t offset) { return static_cast<char*>(data) + offset; }

class ShmEngine final : public Engine {
 public:
  explicit ShmEngine(std::unique_ptr<Segment> segment) : segment_(std::move(segment)), mailbox_(*segment_) {}
  const char* name() const override { return "shm"; }
  int rank() const override { return segment_->rank(); }
  int size() const override { return segment_->size(); }

  void all_reduce(void* data, size_t count, size_t element, const Reduction& reduction, const Call& call) override;
  void reduce(void* data, size_t count, size_t element, const Reduction& reduction, const Call& call) override;
  void broadcast(void* data, size_t bytes, const Call& call) override;
  void all_gather(const std::vector<Piece>& outputs, ConstPiece input, const Call& call) override { share(outputs, input, call); }
  void gather(const std::vector<Piece>& outputs, ConstPiece input, const Call& call) override { share(outputs, input, call); }
  void scatter(Piece output, const std::vector<ConstPiece>& inputs, const Call& call) override;
  void reduce_scatter(Piece output, const std::vector<ConstPiece>& inputs, size_t element, const Reduction& reduction, const Call& call) override;
  void all_to_all(const std::vector<Piece>& outputs, const std::vector<ConstPiece>& inputs, const Call& call) override;
  void barrier(const Call& call) override {
    begin(call, 1);
    finish_first(call);
  }
  std::shared_ptr<void> share(size_t bytes, const Call& call) override;
  void all_reduce_row(void* row, size_t count, size_t element, const Reduction& reduction, const Call& call) override;
  std::shared_ptr<Transfer> send(int to, uint64_t tag, ConstPiece data, std::shared_ptr<const void> keep) override {
    return mailbox_.send(to, tag, data, std::move(keep));
  }
  std::shared_ptr<Transfer> receive(int from, uint64_t tag, Piece data, std::shared_ptr<const void> keep) override {
    return mailbox_.receive(from, tag, data, std::move(keep));
  }
  void abort(const std::string& reason) override {
    segment_->retire(shm::Status::Failed, reason);
    mailbox_.abort(reason);
  }

 private:
  size_t ranks() const { return static_cast<size_t>(segment_->size()); }
  char* own() { return segment_->half(rank(), round_); }
  const char* slot(int rank) { return segment_->half(rank, round_); }

  // The first round of a call: the caller writes what it has to its half, and its sizes, before finish_first. `memory` is the number of a mapping.
  void begin(const Call& call, size_t rounds, uint64_t memory = 0);
  // The number of rounds of the call.
  size_t finish_first(const Call& call);
  void next() { round_++; }
  void finish(const Call& call) {
    segment_->publish(round_);
    segment_->wait_for_all(round_, call.deadline, collective_name(call.what));
  }
  void check_sizes(int from, uint64_t got, size_t wanted, const Call& call) const;

  // outputs[i] gets the input of rank i, where there are outputs.
  void share(const std::vector<Piece>& outputs, ConstPiece input, const Call& call);
  // `take(from, offset, data, bytes)` gets what each rank has for this one, part after part, the ranks in order within a part.
  template <class Take> void exchange(const std::vector<ConstPiece>& inputs, const std::vector<size_t>& wanted, const Call& call, Take&& take);
  void all_reduce_small(void* data, size_t count, size_t element, const Reduction& reduction, const Call& call);

  // A mapping that `share` has given, with a part for each rank.
  struct Shared {
    uint64_t number;
    size_t part;
    std::weak_ptr<shm::Mapping> mapping;
  };

  const std::unique_ptr<Segment> segment_;
  std::vector<Shared> shared_;
  uint64_t last_shared_ = 0;
  shm::Mailbox mailbox_;
  uint64_t round_ = 0;
  uint64_t first_round_ = 0;
};

void ShmEngine::begin(const Call& call, size_t rounds, uint64_t memory) {
  next();
  first_round_ = round_;
  RoundHead& head = segment_->head(rank(), round_);
  head = {call.what, call.dtype, call.reduction, call.root, static_cast<uint32_t>(rounds), call.sequence, call.bytes, memory};
}

size_t ShmEngine::finish_first(const Call& call) {
  finish(call);
  const RoundHead& own = segment_->head(rank(), first_round_);
  uint32_t rounds = own.rounds;
  for (int r = 0; r < size(); r++) {
    const RoundHead& other = segment_->head(r, first_round_);
    const bool same = other.what == own.what && other.dtype == own.dtype && other.reduction == own.reduction && other.root == own.root &&
                      other.call == own.call && other.bytes == own.bytes && other.memory == own.memory;
    if (!same) {
      Call theirs;
      theirs.what = other.what;
      theirs.dtype = other.dtype;
      theirs.reduction = other.reduction;
      theirs.root = other.root;
      theirs.bytes = other.bytes;
      theirs.sequence = other.call;
      throw DistBackendError(str("dist: the ranks do not call the same: rank ", rank(), " is at ", describe(call), ", rank ", r, " at ", describe(theirs)));
    }
    rounds = std::max(rounds, other.rounds);
  }
  return rounds;
}

void ShmEngine::check_sizes(int from, uint64_t got, size_t wanted, const Call& call) const {
  CRESSET_CHECK_AS(DistBackendError, got == wanted, "dist: ", collective_name(call.what), ": rank ", rank(), " expects ", wanted, " bytes from rank ", from,
                   ", which has ", got);
}

void ShmEngine::all_reduce_small(void* data, size_t count, size_t element, const Reduction& reduction, const Call& call) {
  begin(call, 1);
  std::memcpy(own(), data, count * element);
  finish_first(call);
  for (int r = 1; r < size(); r++) reduction(data, r == 1 ? slot(0) : data, slot(r), count);
}

// Part i of a block is reduced by rank i. While a block's parts are read, the results of the block before are passed round: one wait a block.
void ShmEngine::all_reduce(void* data, size_t count, size_t element, const Reduction& reduction, const Call& call) {
  if (size() == 1) return;
  if (count * element <= std::min(kSmallBytes, segment_->half_bytes())) return all_reduce_small(data, count, element, reduction, call);
  const size_t n = ranks(), fits = segment_->half_bytes() / (n + 1) / element, part = std::min(fits >= 64 ? fits / 64 * 64 : fits, (count + n - 1) / n);
  const size_t block = n * part;
  const size_t blocks = times(count, block), results = n * part * element;
  auto extent = [&](size_t b, size_t r) { return std::min(part, count - std::min(count, b * block + r * part)); };
  auto place = [&](size_t b, size_t r) { return at(data, (b * block + r * part) * element); };
  const auto me = static_cast<size_t>(rank());
  begin(call, blocks + 1);
  for (size_t b = 0; b <= blocks; b++) {
    if (b > 0) next();
    if (b < blocks)
      for (size_t r = 0; r < n; r++)
        if (r != me && extent(b, r)) std::memcpy(own() + r * part * element, place(b, r), extent(b, r) * element);
    if (b == 0) finish_first(call);
    else finish(call);
    for (size_t r = 0; r < n && b > 0; r++)
      if (r != me && extent(b - 1, r)) std::memcpy(place(b - 1, r), slot(static_cast<int>(r)) + results, extent(b - 1, r) * element);
    if (b == blocks || !extent(b, me)) continue;
    // The result goes where the others read it in the next round.
    char* const result = segment_->half(rank(), round_ + 1) + results;
    auto from = [&](size_t r, size_t i) { return (r == me ? place(b, me) : slot(static_cast<int>(r)) + me * part * element) + i * element; };
    for (size_t i = 0, piece = kPieceBytes / element; i < extent(b, me); i += piece) {
      const size_t elements = std::min(piece, extent(b, me) - i);
      char* const sum = result + i * element;
      for (size_t r = 1; r < n; r++) reduction(sum, r == 1 ? from(0, i) : sum, from(r, i), elements);
      std::memcpy(place(b, me) + i * element, sum, elements * element);
    }
  }
}

std::shared_ptr<void> ShmEngine::share(size_t bytes, const Call& call) {
  if (size() == 1 || bytes <= kSmallBytes) return nullptr;
  const size_t part = (bytes + 4095) / 4096 * 4096, total = ranks() * part;
  std::shared_ptr<shm::Mapping> mapping;
  struct {
    uint64_t mark = 0;
    char path[64] = {};
  } place;
  begin(call, 3);
  if (rank() == 0 && (mapping = shm::Mapping::make(total))) {
    place.mark = mapping->mark();
    std::strncpy(place.path, mapping->path().c_str(), sizeof place.path - 1);
  }
  std::memcpy(own(), &place, sizeof place);
  finish_first(call);
  std::memcpy(&place, slot(0), sizeof place);
  if (rank() > 0 && place.path[0]) mapping = shm::Mapping::open(place.path, total, place.mark);
  next();
  *own() = mapping != nullptr;
  finish(call);
  for (int r = 0; r < size(); r++)
    if (!*slot(r)) return nullptr;
  mapping->close();
  shared_.erase(std::remove_if(shared_.begin(), shared_.end(), [](const Shared& s) { return s.mapping.expired(); }), shared_.end());
  shared_.push_back({++last_shared_, part, mapping});
  return {mapping, mapping->data() + static_cast<size_t>(rank()) * part};
}

// Part r is reduced by rank r, which writes it to the rows of all.
void ShmEngine::all_reduce_row(void* row, size_t count, size_t element, const Reduction& reduction, const Call& call) {
  std::shared_ptr<shm::Mapping> mapping;
  size_t part = 0;
  uint64_t number = 0;
  for (const Shared& s : shared_) {
    mapping = s.mapping.lock();
    part = s.part;
    number = s.number;
    if (mapping && mapping->data() + static_cast<size_t>(rank()) * part == row) break;
    mapping = nullptr;
  }
  CRESSET_CHECK(mapping && count * element <= part, "dist: all_reduce of a shared row: expected one that this group has given");
  begin(call, 2, number);
  finish_first(call);
  const size_t n = ranks(), me = static_cast<size_t>(rank()), each = (count + n - 1) / n, first = std::min(count, me * each),
               last = std::min(count, first + each);
  std::vector<char> sum(std::min(kPieceBytes, (last - first) * element));
  auto at_rank = [&](size_t r, size_t place) { return mapping->data() + r * part + place * element; };
  for (size_t place = first, piece = kPieceBytes / element; place < last; place += piece) {
    const size_t extent = std::min(piece, last - place);
    for (size_t r = 1; r < n; r++) reduction(sum.data(), r == 1 ? at_rank(0, place) : sum.data(), at_rank(r, place), extent);
    for (size_t r = 0; r < n; r++) std::memcpy(at_rank(r, place), sum.data(), extent * element);
  }
  next();
  finish(call);
}

void ShmEngine::reduce(void* data, size_t count, size_t element, const Reduction& reduction, const Call& call) {
  if (size() == 1) return;
  const size_t part = segment_->half_bytes() / element, parts = times(count, part);
  const bool root = rank() == call.root;
  std::vector<char> first;  // the root's data come in the order of the ranks
  begin(call, parts);
  for (size_t p = 0; p < parts; p++) {
    if (p > 0) next();
    const size_t extent = std::min(part, count - std::min(count, p * part));
    char* const place = at(data, p * part * element);
    if (!root && extent) std::memcpy(own(), place, extent * element);
    if (p == 0) finish_first(call);
    else finish(call);
    if (!root || !extent) continue;
    const void* sum = rank() == 0 ? place : slot(0);
    if (rank() > 1) { first.assign(place, place + extent * element); }
    for (int r = 1; r < size(); r++) {
      const void* other = r != rank() ? slot(r) : rank() > 1 ? first.data() : place;
      reduction(place, sum, other, extent);
      sum = place;
    }
  }
}

void ShmEngine::share(const std::vector<Piece>& outputs, ConstPiece input, const Call& call) {
  const size_t part = segment_->half_bytes();
  begin(call, times(input.bytes, part));
  segment_->sizes(rank(), round_)[0] = input.bytes;
  const uint64_t first = round_;
  size_t parts = 1;
  for (size_t p = 0; p < parts; p++) {
    if (p > 0) next();
    auto extent = [&](size_t bytes) { return std::min(part, bytes - std::min(bytes, p * part)); };
    if (extent(input.bytes)) std::memcpy(own(), at(input.data, p * part), extent(input.bytes));
    if (p == 0) parts = finish_first(call);
    else finish(call);
    for (size_t r = 0; r < outputs.size(); r++) {
      if (p == 0) check_sizes(static_cast<int>(r), segment_->sizes(static_cast<int>(r), first)[0], outputs[r].bytes, call);
      const size_t bytes = extent(outputs[r].bytes);
      const bool mine = static_cast<int>(r) == rank();
      if (bytes) std::memmove(at(outputs[r].data, p * part), mine ? at(input.data, p * part) : slot(static_cast<int>(r)), bytes);
    }
  }
}

void ShmEngine::broadcast(void* data, size_t bytes, const Call& call) {
  if (size() == 1) return;
  const size_t part = segment_->half_bytes(), parts = times(bytes, part);
  begin(call, parts);
  for (size_t p = 0; p < parts; p++) {
    if (p > 0) next();
    const size_t extent = std::min(part, bytes - std::min(bytes, p * part));
    if (rank() == call.root && extent) std::memcpy(own(), at(data, p * part), extent);
    if (p == 0) finish_first(call);
    else finish(call);
    if (rank() != call.root && extent) std::memcpy(at(data, p * part), slot(call.root), extent);
  }
}

template <class Take> void ShmEngine::exchange(const std::vector<ConstPiece>& inputs, const std::vector<size_t>& wanted, const Call& call, Take&& take) {
  const size_t n = ranks(), part = segment_->half_bytes() / n / 64 * 64;
  size_t longest = 0;
  for (const ConstPiece& in : inputs) longest = std::max(longest, in.bytes);
  begin(call, times(longest, part));
  for (size_t r = 0; r < n; r++) segment_->sizes(rank(), round_)[r] = inputs.empty() ? 0 : inputs[r].bytes;
  const uint64_t first = round_;
  const auto me = static_cast<size_t>(rank());
  size_t parts = 1;
  for (size_t p = 0; p < parts; p++) {
    if (p > 0) next();
    auto extent = [&](size_t bytes) { return std::min(part, bytes - std::min(bytes, p * part)); };
    for (size_t r = 0; r < inputs.size(); r++)
      if (r != me && extent(inputs[r].bytes)) std::memcpy(own() + r * part, at(inputs[r].data, p * part), extent(inputs[r].bytes));
    if (p == 0) parts = finish_first(call);
    else finish(call);
    for (size_t r = 0; r < n; r++) {
      if (p == 0) check_sizes(static_cast<int>(r), segment_->sizes(static_cast<int>(r), first)[me], wanted[r], call);
      const size_t bytes = extent(wanted[r]);
      if (bytes) take(r, p * part, r == me ? at(inputs[me].data, p * part) : slot(static_cast<int>(r)) + me * part, bytes);
    }
  }
}

void ShmEngine::scatter(Piece output, const std::vector<ConstPiece>& inputs, const Call& call) {
  std::vector<size_t> wanted(ranks(), 0);
  wanted[static_cast<size_t>(call.root)] = output.bytes;
  exchange(inputs, wanted, call, [&](size_t, size_t offset, const char* data, size_t bytes) { std::memmove(at(output.data, offset), data, bytes); });
}

void ShmEngine::all_to_all(const std::vector<Piece>& outputs, const std::vector<ConstPiece>& inputs, const Call& call) {
  std::vector<size_t> wanted;
  for (const Piece& out : outputs) wanted.push_back(out.bytes);
  exchange(inputs, wanted, call,
           [&](size_t from, size_t offset, const char* data, size_t bytes) { std::memmove(at(outputs[from].data, offset), data, bytes); });
}

void ShmEngine::reduce_scatter(Piece output, const std::vector<ConstPiece>& inputs, size_t element, const Reduction& reduction, const Call& call) {
  const std::vector<size_t> wanted(ranks(), output.bytes);
  exchange(inputs, wanted, call, [&](size_t from, size_t offset, const char* data, size_t bytes) {
    if (from == 0) std::memmove(at(output.data, offset), data, bytes);
    else reduction(at(output.data, offset), at(output.data, offset), data, bytes / element);
  });
}

}  // namespace

std::shared_ptr<Engine> make_shm_engine(Store& store, int rank, int size, Deadline deadline) {
  if (size > kMostRanks) return nullptr;
  auto segment = Segment::join(store, rank, size, deadline);
  return segment ? std::make_shared<ShmEngine>(std::move(segment)) : nullptr;
}

}  // namespace cresset::distributed
