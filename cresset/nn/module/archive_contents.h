#pragma once
// The in-memory form of an archive, shared with the io room's writers and readers.

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cresset/nn/module/archive.h"

namespace cresset::serialize {

struct ArchiveContents {
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::vector<std::pair<std::string, ArchiveValue>> values;
  // Position in `tensors` (index), or in `values` (-1 - index).
  std::unordered_map<std::string, int64_t> index;

  void add(std::string key, Tensor tensor) {
    claim(key, static_cast<int64_t>(tensors.size()));
    tensors.emplace_back(std::move(key), std::move(tensor));
  }
  void add(std::string key, ArchiveValue value) {
    claim(key, -1 - static_cast<int64_t>(values.size()));
    values.emplace_back(std::move(key), std::move(value));
  }

 private:
  void claim(const std::string& key, int64_t at) { CRESSET_CHECK(index.emplace(key, at).second, "archive: the key '", key, "' is already in use"); }
};

// The tensors that a file lacks, or has in another shape.
struct LoadProblems {
  std::vector<std::string> missing, wrong;
};

}  // namespace cresset::serialize
