#pragma once
// Files and folders that go when their owner does.

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "cresset/base/error.h"

namespace cresset {

class CRESSET_API TempFile {
 public:
  TempFile() = default;
  explicit TempFile(std::string path, int fd = -1) : fd(fd), name(std::move(path)) {}
  TempFile(TempFile&& o) noexcept : fd(std::exchange(o.fd, -1)), name(std::exchange(o.name, std::string())) {}
  TempFile& operator=(TempFile&& o) noexcept {
    std::swap(fd, o.fd);
    std::swap(name, o.name);
    return *this;
  }
  ~TempFile();
  bool open();

  int fd = -1;
  std::string name;
};

class CRESSET_API TempDir {
 public:
  TempDir() = default;
  explicit TempDir(std::string path) : name(std::move(path)) {}
  TempDir(TempDir&& o) noexcept : name(std::exchange(o.name, std::string())) {}
  TempDir& operator=(TempDir&& o) noexcept {
    std::swap(name, o.name);
    return *this;
  }
  // The folder goes if it is empty.
  ~TempDir();

  std::string name;
};

// In TMPDIR or /tmp, with a name that begins with the prefix. Errors, of those that do not "try": the system's.
CRESSET_API std::optional<TempFile> try_make_tempfile(const std::string& prefix = "cresset-file-");
CRESSET_API TempFile make_tempfile(const std::string& prefix = "cresset-file-");
CRESSET_API std::optional<TempDir> try_make_tempdir(const std::string& prefix = "cresset-dir-");
CRESSET_API TempDir make_tempdir(const std::string& prefix = "cresset-dir-");

}  // namespace cresset
