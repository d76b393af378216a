#pragma once
// Images on disk: a file for each key, complete or absent, in a folder of the user's own.

#include <optional>
#include <string>
#include <utility>

#include "cresset/base/macros.h"

namespace cresset::graph::machine {

// Key and image as files and packages hold them, with a checksum of both. Opened: nothing where the bytes are damaged, or of another form.
CRESSET_API std::string sealed(const std::string& key, const std::string& image);
CRESSET_API std::optional<std::pair<std::string, std::string>> opened(const std::string& bytes);

class CRESSET_API Cache {
 public:
  // Of at most `limit` bytes.
  Cache(std::string folder, int64_t limit) : folder_(std::move(folder)), limit_(limit) {}
  // As the environment sets it: CRESSET_CODE_CACHE, a folder or 0, else cresset/code in the user's cache folder; CRESSET_CODE_CACHE_BYTES.
  static const Cache& of_user();

  // Nothing where there is no file, or one that is damaged, of another key, or not the user's.
  std::optional<std::string> read(const std::string& key) const;
  // A full disk or a folder that cannot be written leaves things as they are.
  void write(const std::string& key, const std::string& image) const;
  std::string path(const std::string& key) const;
  // The name of a key, as files have it: 32 digits.
  static std::string name_of(const std::string& key);

 private:
  void shrink() const;
  std::string folder_;
  int64_t limit_;
};

}  // namespace cresset::graph::machine
