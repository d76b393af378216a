#pragma once
// A file of events, which TensorBoard reads. For this room and the Python extension.

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cresset/base/macros.h"

namespace cresset::train {

// Events are written when `max_queue` of them wait, after `flush_seconds`, and at flush and close. Methods may be called by several threads.
class CRESSET_API EventFile {
 public:
  // Makes the folder where it is missing. With flush_seconds of 0, time writes nothing.
  EventFile(const std::string& folder, size_t max_queue, double flush_seconds = 0, const std::string& suffix = ".cpp");
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  const std::string& path() const { return path_; }
  bool is_closed() const { return file_ == nullptr; }
  // The bytes of an event. Errors: a closed file, one that cannot be written.
  void add(std::string_view event);
  void flush();
  void close();

 private:
  CRESSET_LOCAL void flush_locked();

  std::string path_, waiting_;
  std::FILE* file_ = nullptr;
  size_t max_queue_, count_ = 0;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::thread clock_;
  const int process_;
};

// Seconds since 1970, the name of this machine, and a folder with those above it.
double now();
std::string host();
void make_folders(const std::string& path);
// The limits of bins that grow by a tenth, on both sides of zero.
CRESSET_API const std::vector<double>& default_edges();

}  // namespace cresset::train
