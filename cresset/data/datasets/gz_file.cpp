#include "cresset/data/datasets/gz_file.h"

#include <sys/stat.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "cresset/base/error.h"

namespace cresset::data::detail {

namespace {
bool exists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}
}  // namespace

FileContent read_file(const char* name, const std::string& path, size_t limit) {
  FileContent content;
  content.path = exists(path) || !exists(path + ".gz") ? path : path + ".gz";
  CRESSET_CHECK(exists(content.path), name, ": no file '", path, "' or '", path, ".gz'");
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(content.path.c_str(), "rb"), gzclose);
  CRESSET_CHECK(file, name, ": cannot open '", content.path, "': ", std::strerror(errno));
  gzbuffer(file.get(), 1u << 18);
  constexpr size_t kStep = size_t{1} << 20;
  size_t used = 0;
  while (true) {
    content.bytes.resize(used + kStep);
    const int got = gzread(file.get(), content.bytes.data() + used, kStep);
    int code = 0;
    const char* text = gzerror(file.get(), &code);
    CRESSET_CHECK(got >= 0 && (code == Z_OK || code == Z_STREAM_END), name, ": '", content.path,
                  "' is damaged or truncated: ", code == Z_ERRNO ? std::strerror(errno) : text);
    used += static_cast<size_t>(got);
    CRESSET_CHECK(used <= limit, name, ": '", content.path, "' is larger than the ", limit, " bytes expected");
    if (static_cast<size_t>(got) < kStep) break;
  }
  content.bytes.resize(used);
  return content;
}

}  // namespace cresset::data::detail
