#pragma once
// Inside the library: requests to etcd's HTTP gateway.

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "cresset/dist/errors.h"
#include "cresset/dist/transport/socket.h"

namespace cresset::distributed::etcd {

// Gets a line of an answer that goes on; false ends it.
using OnLine = std::function<bool(const std::string& line)>;

class Http {
 public:
  explicit Http(const std::string& endpoints);
  ~Http();
  Http(const Http&) = delete;

  // The answer of the first endpoint that can be reached; `on_line` gets it while it comes. Nothing that may have been received is sent again.
  // Errors: DistNetworkError; DistTimeoutError where the answer is late.
  std::string post(const std::string& path, const std::string& body, Deadline deadline, const OnLine& on_line = {});
  // The address by which the endpoint sees this process.
  std::string own_host(Deadline deadline);

 private:
  void* take();
  void give(void* handle);

  std::vector<std::string> endpoints_;
  std::mutex mutex_;
  std::vector<void*> idle_;  // connections that stay open
  size_t best_ = 0;          // the endpoint that answered last
  int process_;
};

std::string base64(const std::string& bytes);
// Errors: DistNetworkError for text that is none.
std::string from_base64(const std::string& text);

}  // namespace cresset::distributed::etcd
