#pragma once
// Moves the bytes of a group's operations. An engine knows no tensors; a group calls the collectives of one engine one after another.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cresset/base/macros.h"
#include "cresset/dist/transport/deadline.h"

namespace cresset::distributed {

struct Piece {
  void* data = nullptr;
  size_t bytes = 0;
};
// Pieces of the given sizes, one behind the other.
inline std::vector<Piece> in_a_row(void* first, const std::vector<size_t>& sizes) {
  std::vector<Piece> pieces;
  char* at = static_cast<char*>(first);
  for (const size_t bytes : sizes) {
    pieces.push_back({at, bytes});
    at += bytes;
  }
  return pieces;
}
struct ConstPiece {
  const void* data = nullptr;
  size_t bytes = 0;
};
// into[i] = a[i] op b[i] for n elements.
using Reduction = std::function<void(void* into, const void* a, const void* b, size_t n)>;

// The call that a rank makes, which all ranks of the group compare where the engine can.
struct Call {
  uint16_t what = 0, dtype = 0, reduction = 0;
  int16_t root = -1;
  uint64_t bytes = 0;     // of a rank, where all have as many; else 0
  uint64_t sequence = 0;  // of the group's calls
  Deadline deadline{};
};

// A message under way.
class CRESSET_API Transfer {
 public:
  virtual ~Transfer() = default;
  virtual bool done() = 0;
  // Errors: the deadline has passed, the other side is gone, the message has another size.
  virtual void wait(Deadline deadline) = 0;
  virtual int source() const { return -1; }
};

// All raise an Error that names a rank where one is gone, or late, or does something else. None blocks past the call's deadline.
class CRESSET_API Engine {
 public:
  virtual ~Engine() = default;
  virtual const char* name() const = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  virtual void all_reduce(void* data, size_t count, size_t element, const Reduction& reduction, const Call& call) = 0;
  // Other ranks' data keep their values.
  virtual void reduce(void* data, size_t count, size_t element, const Reduction& reduction, const Call& call) = 0;
  virtual void broadcast(void* data, size_t bytes, const Call& call) = 0;
  // outputs[i] gets the input of rank i.
  virtual void all_gather(const std::vector<Piece>& outputs, ConstPiece input, const Call& call) = 0;
  // `outputs` is empty but on the root, as are the inputs of `scatter`.
  virtual void gather(const std::vector<Piece>& outputs, ConstPiece input, const Call& call) = 0;
  virtual void scatter(Piece output, const std::vector<ConstPiece>& inputs, const Call& call) = 0;
  virtual void reduce_scatter(Piece output, const std::vector<ConstPiece>& inputs, size_t element, const Reduction& reduction, const Call& call) = 0;
  virtual void all_to_all(const std::vector<Piece>& outputs, const std::vector<ConstPiece>& inputs, const Call& call) = 0;
  virtual void barrier(const Call& call) = 0;

  // So many bytes of zeros, in memory that all ranks map, for `all_reduce_row`; null where the engine has no such memory. All ranks call it together.
  virtual std::shared_ptr<void> share(size_t, const Call&) { return nullptr; }
  // all_reduce of elements at the begin of such memory, in place.
  virtual void all_reduce_row(void* row, size_t count, size_t element, const Reduction& reduction, const Call& call) {
    all_reduce(row, count, element, reduction, call);
  }

  // The memory is used until the transfer is done or its wait has failed; `keep` owns it. From any rank where `from` is -1.
  virtual std::shared_ptr<Transfer> send(int to, uint64_t tag, ConstPiece data, std::shared_ptr<const void> keep) = 0;
  virtual std::shared_ptr<Transfer> receive(int from, uint64_t tag, Piece data, std::shared_ptr<const void> keep) = 0;

  // Ends what waits in other threads with an error, and tells the other ranks why.
  virtual void abort(const std::string& reason) = 0;
};

}  // namespace cresset::distributed
