#pragma once
// Inside the room: the collectives of an engine whose library gathers from all ranks and moves pieces between them. Reductions are ours, so that
// their order is that of the ranks.

#include <algorithm>
#include <cstring>

#include "cresset/dist/transport/engine.h"

namespace cresset::distributed {

class ComposedEngine : public Engine {
 public:
  // All ranks have all data, and reduce them in the order of the ranks; large data are reduced part by part, each by one rank.
  void all_reduce(void* data, size_t count, size_t element, const Reduction& reduction, const Call& call) override {
    if (size() == 1) return;
    const size_t n = ranks(), bytes = count * element;
    if (bytes <= kSmallBytes) {
      std::vector<char> all(n * bytes);
      gather_all(all.data(), std::vector<size_t>(n, bytes), {data, bytes}, call);
      for (size_t r = 1; r < n; r++) reduction(data, r == 1 ? all.data() : data, all.data() + r * bytes, count);
      return;
    }
    std::vector<size_t> sizes;
    std::vector<ConstPiece> parts;
    for (size_t r = 0, at = 0; r < n; r++) {
      const size_t end = count * (r + 1) / n;
      parts.push_back({static_cast<char*>(data) + at * element, (end - at) * element});
      sizes.push_back((end - at) * element);
      at = end;
    }
    std::vector<char> own(sizes[static_cast<size_t>(rank())]);
    reduce_scatter({own.data(), own.size()}, parts, element, reduction, call);
    gather_all(data, sizes, {own.data(), own.size()}, call);
  }
  void reduce(void* data, size_t count, size_t element, const Reduction& reduction, const Call& call) override {
    const size_t n = ranks(), bytes = count * element;
    std::vector<char> all(rank() == call.root ? n * bytes : 0);
    std::vector<Piece> pieces;
    for (size_t r = 0; r < n && !all.empty(); r++) pieces.push_back({all.data() + r * bytes, bytes});
    gather(pieces, {data, bytes}, call);
    if (rank() != call.root) return;
    for (size_t r = 1; r < n; r++) reduction(data, r == 1 ? all.data() : data, all.data() + r * bytes, count);
  }
  void all_gather(const std::vector<Piece>& outputs, ConstPiece input, const Call& call) override {
    std::vector<size_t> sizes;
    size_t total = 0;
    for (const Piece& p : outputs) {
      sizes.push_back(p.bytes);
      total += p.bytes;
    }
    std::vector<char> all(total);
    gather_all(all.data(), sizes, input, call);
    size_t at = 0;
    for (const Piece& p : outputs) {
      if (p.bytes) std::memcpy(p.data, all.data() + at, p.bytes);
      at += p.bytes;
    }
  }
  void gather(const std::vector<Piece>& outputs, ConstPiece input, const Call& call) override {
    std::vector<ConstPiece> to(ranks());
    to[static_cast<size_t>(call.root)] = input;
    move(outputs.empty() ? std::vector<Piece>(ranks()) : outputs, to, call);
  }
  void scatter(Piece output, const std::vector<ConstPiece>& inputs, const Call& call) override {
    std::vector<Piece> from(ranks());
    from[static_cast<size_t>(call.root)] = output;
    move(from, inputs.empty() ? std::vector<ConstPiece>(ranks()) : inputs, call);
  }
  void reduce_scatter(Piece output, const std::vector<ConstPiece>& inputs, size_t element, const Reduction& reduction, const Call& call) override {
    const size_t n = ranks();
    std::vector<char> all(n * output.bytes);
    std::vector<Piece> from;
    for (size_t r = 0; r < n; r++) from.push_back({all.data() + r * output.bytes, output.bytes});
    move(from, inputs, call);
    if (n == 1) std::memcpy(output.data, all.data(), output.bytes);
    for (size_t r = 1; r < n; r++) reduction(output.data, r == 1 ? all.data() : output.data, all.data() + r * output.bytes, output.bytes / element);
  }
  void all_to_all(const std::vector<Piece>& outputs, const std::vector<ConstPiece>& inputs, const Call& call) override { move(outputs, inputs, call); }

 protected:
  static constexpr size_t kSmallBytes = 64 << 10;
  size_t ranks() const { return static_cast<size_t>(size()); }
  // The inputs of all ranks, of these sizes, one after another.
  virtual void gather_all(void* all, std::vector<size_t> sizes, ConstPiece input, const Call& call) = 0;
  // inputs[r] goes to rank r; outputs[r] comes from there. All are under way at once.
  virtual void move(const std::vector<Piece>& outputs, const std::vector<ConstPiece>& inputs, const Call& call) = 0;
};

}  // namespace cresset::distributed
