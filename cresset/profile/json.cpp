#include "cresset/profile/json.h"

#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "cresset/base/error.h"

namespace cresset::profile {

std::string json_text(const std::string& text) {
  std::string s = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      s += '\\';
      s += c;
    } else if (byte < 0x20) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04x", byte);
      s += buffer;
    } else {
      s += c;
    }
  }
  return s + "\"";
}

std::string json_list(const std::vector<int64_t>& values) {
  std::string s = "[";
  for (const int64_t v : values) s += (s.size() > 1 ? ", " : "") + std::to_string(v);
  return s + "]";
}

std::string json_value(const dispatch::Value& v) {
  if (v.isBool()) return v.to_bool() ? "true" : "false";
  if (v.isInt()) return std::to_string(v.to_int());
  if (v.is<ScalarType>()) return std::to_string(static_cast<int>(v.to_dtype()));
  if (v.isDouble() && std::isfinite(v.to_double())) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.17g", v.to_double());
    return buffer;
  }
  if (v.isDouble()) return json_text(std::isnan(v.to_double()) ? "NaN" : v.to_double() > 0 ? "Infinity" : "-Infinity");
  if (v.isString()) return json_text(v.to_string());
  if (v.isDevice()) return json_text(v.to_device().str());
  if (v.is<std::vector<int64_t>>()) return json_list(v.to_int_list());
  return "null";
}

namespace {

bool ends_in_gz(const std::string& path) { return path.size() > 3 && path.compare(path.size() - 3, 3, ".gz") == 0; }

void write_file(const std::string& path, const std::string& text) {
  // Compressed or not by the mode; "T" writes the bytes as they are.
  gzFile file = gzopen(path.c_str(), ends_in_gz(path) ? "wb" : "wbT");
  CRESSET_CHECK(file, "profile: cannot write ", path, ": ", std::strerror(errno));
  const bool written = text.empty() || gzfwrite(text.data(), text.size(), 1, file) == 1;
  const bool closed = gzclose(file) == Z_OK;
  CRESSET_CHECK(written && closed, "profile: cannot write all of ", path);
}

}  // namespace

void write_text(const std::string& path, const std::string& text) {
  const std::string unfinished = path + ".part" + (ends_in_gz(path) ? ".gz" : "");
  try {
    write_file(unfinished, text);
  } catch (...) {
    unlink(unfinished.c_str());
    throw;
  }
  CRESSET_CHECK(std::rename(unfinished.c_str(), path.c_str()) == 0, "profile: cannot write ", path, ": ", std::strerror(errno));
}

}  // namespace cresset::profile
