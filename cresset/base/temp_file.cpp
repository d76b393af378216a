#include "cresset/base/util/temp_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cresset {

namespace {

std::string pattern(const std::string& prefix) {
  const char* folder = nullptr;
  for (const char* variable : {"TMPDIR", "TMP", "TEMP"})
    if (const char* value = std::getenv(variable); !folder && value && *value) folder = value;
  return std::string(folder ? folder : "/tmp") + "/" + prefix + "XXXXXX";
}

}  // namespace

TempFile::~TempFile() {
  if (name.empty()) return;
  if (fd >= 0) close(fd);
  unlink(name.c_str());
}

bool TempFile::open() {
  if (fd != -1) return false;
  name = pattern("cresset-file-");
  fd = mkstemp(name.data());
  return fd != -1;
}

TempDir::~TempDir() {
  if (!name.empty()) rmdir(name.c_str());
}

std::optional<TempFile> try_make_tempfile(const std::string& prefix) {
  std::string name = pattern(prefix);
  const int fd = mkstemp(name.data());
  if (fd == -1) return std::nullopt;
  return TempFile(std::move(name), fd);
}

TempFile make_tempfile(const std::string& prefix) {
  if (auto file = try_make_tempfile(prefix)) return std::move(*file);
  throw Error(str("make_tempfile: cannot make a file in ", pattern(prefix), ": ", std::strerror(errno)));
}

std::optional<TempDir> try_make_tempdir(const std::string& prefix) {
  std::string name = pattern(prefix);
  if (!mkdtemp(name.data())) return std::nullopt;
  return TempDir(std::move(name));
}

TempDir make_tempdir(const std::string& prefix) {
  if (auto folder = try_make_tempdir(prefix)) return std::move(*folder);
  throw Error(str("make_tempdir: cannot make a folder in ", pattern(prefix), ": ", std::strerror(errno)));
}

}  // namespace cresset
