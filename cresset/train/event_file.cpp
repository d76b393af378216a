#include "cresset/train/event_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <utility>

#include "cresset/base/error.h"
#include "cresset/train/summary_writer.h"
#include "cresset/train/wire.h"

namespace cresset::train {

double now() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

const std::vector<double>& default_edges() {
  static const std::vector<double> edges = [] {
    std::vector<double> positive, all;
    for (double edge = 1e-12; edge < 1e20; edge *= 1.1) positive.push_back(edge);
    for (size_t i = positive.size(); i-- > 0;) all.push_back(-positive[i]);
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    return all;
  }();
  return edges;
}

std::string host() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

void make_folders(const std::string& path) {
  for (size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const std::string part = path.substr(0, at);
    CRESSET_CHECK(mkdir(part.c_str(), 0777) == 0 || errno == EEXIST, "SummaryWriter: cannot make the folder '", part, "': ", std::strerror(errno));
    if (at == std::string::npos) return;
  }
}

EventFile::EventFile(const std::string& folder, size_t max_queue, double flush_seconds, const std::string& suffix)
    : max_queue_(std::max<size_t>(max_queue, 1)), process_(getpid()) {
  static std::atomic<int> number{0};
  make_folders(folder);
  char name[64];
  std::snprintf(name, sizeof name, "/events.out.tfevents.%010lld.", static_cast<long long>(now()));
  path_ = folder + name + host() + "." + std::to_string(getpid()) + "." + std::to_string(number++) + suffix;
  file_ = std::fopen(path_.c_str(), "wb");
  CRESSET_CHECK(file_, "SummaryWriter: cannot make '", path_, "': ", std::strerror(errno));
  add(wire::real(1, now()) + wire::data(3, "brain.Event:2"));
  flush();
  if (flush_seconds <= 0) return;
  clock_ = std::thread([this, flush_seconds] {
    std::unique_lock<std::mutex> lock(mutex_);
    // A failure is told by the next call of the program.
    while (!ended_.wait_for(lock, std::chrono::duration<double>(flush_seconds), [this] { return file_ == nullptr; }))
      if (std::fwrite(waiting_.data(), 1, waiting_.size(), file_) == waiting_.size()) {
        waiting_.clear();
        count_ = 0;
        std::fflush(file_);
      }
  });
}

EventFile::~EventFile() {
  // A forked process has neither the thread nor a part in the file.
  if (getpid() != process_) {
    if (clock_.joinable()) clock_.detach();
    return;
  }
  try {
    close();
  } catch (const std::exception&) {
    // A destructor cannot tell.
  }
}

void EventFile::add(std::string_view event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  CRESSET_CHECK_VALUE(file_, "the event file '", path_, "' is closed");
  std::string length;
  wire::raw(length, static_cast<uint64_t>(event.size()));
  waiting_ += length;
  wire::raw(waiting_, masked_crc(length));
  waiting_ += event;
  wire::raw(waiting_, masked_crc(event));
  if (++count_ >= max_queue_) flush_locked();
}

void EventFile::flush() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (file_) flush_locked();
}

void EventFile::flush_locked() {
  const bool good = std::fwrite(waiting_.data(), 1, waiting_.size(), file_) == waiting_.size() && std::fflush(file_) == 0;
  waiting_.clear();
  count_ = 0;
  CRESSET_CHECK(good, "SummaryWriter: cannot write '", path_, "': ", std::strerror(errno));
}

void EventFile::close() {
  bool written = true;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!file_) return;
    const std::string last = std::move(waiting_);
    std::FILE* const file = std::exchange(file_, nullptr);
    written = std::fwrite(last.data(), 1, last.size(), file) == last.size();
    written = std::fclose(file) == 0 && written;
    ended_.notify_all();
  }
  if (clock_.joinable()) clock_.join();
  CRESSET_CHECK(written, "SummaryWriter: cannot write '", path_, "': ", std::strerror(errno));
}

}  // namespace cresset::train
