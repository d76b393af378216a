#pragma once
// Files and folders that go with the object that names them.

#include <stdlib.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "torch/detail/macros.h"

namespace c10 {

struct TempFile {
  explicit TempFile(std::string path, int descriptor = -1) : fd(descriptor), name(std::move(path)) {}
  TempFile(TempFile&& other) noexcept : fd(std::exchange(other.fd, -1)), name(std::exchange(other.name, {})) {}
  TempFile& operator=(TempFile&& other) noexcept {
    std::swap(fd, other.fd);
    std::swap(name, other.name);
    return *this;
  }
  ~TempFile() {
    if (fd >= 0) ::close(fd);
    if (!name.empty()) ::unlink(name.c_str());
  }

  int fd;
  std::string name;
};

struct TempDir {
  explicit TempDir(std::string path) : name(std::move(path)) {}
  TempDir(TempDir&& other) noexcept : name(std::exchange(other.name, {})) {}
  TempDir& operator=(TempDir&& other) noexcept {
    std::swap(name, other.name);
    return *this;
  }
  ~TempDir() {
    if (!name.empty()) ::rmdir(name.c_str());
  }

  std::string name;
};

namespace detail {
inline std::string temporary_name(const std::string& prefix) {
  for (const char* variable : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"})
    if (const char* folder = ::getenv(variable)) return std::string(folder) + "/" + prefix + "XXXXXX";
  return "/tmp/" + prefix + "XXXXXX";
}
}  // namespace detail

inline std::optional<TempFile> try_make_tempfile(const std::string& prefix = "torch-file-") {
  std::string name = detail::temporary_name(prefix);
  const int descriptor = ::mkstemp(name.data());
  if (descriptor < 0) return std::nullopt;
  return TempFile(std::move(name), descriptor);
}
inline TempFile make_tempfile(const std::string& prefix = "torch-file-") {
  std::optional<TempFile> file = try_make_tempfile(prefix);
  TORCH_CHECK(file, "make_tempfile: no file can be made as ", detail::temporary_name(prefix));
  return *std::move(file);
}
inline std::optional<TempDir> try_make_tempdir(const std::string& prefix = "torch-dir-") {
  std::string name = detail::temporary_name(prefix);
  if (!::mkdtemp(name.data())) return std::nullopt;
  return TempDir(std::move(name));
}
inline TempDir make_tempdir(const std::string& prefix = "torch-dir-") {
  std::optional<TempDir> folder = try_make_tempdir(prefix);
  TORCH_CHECK(folder, "make_tempdir: no folder can be made as ", detail::temporary_name(prefix));
  return *std::move(folder);
}

}  // namespace c10
