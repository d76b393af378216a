#pragma once
// TCP connections with deadlines. All calls raise an Error that names the peer and what was being done; none blocks past its
// deadline.

#include <cstddef>
#include <cstdint>
#include <string>

#include "cresset/base/macros.h"
#include "cresset/dist/transport/deadline.h"

namespace cresset::distributed {

class CRESSET_API Socket {
 public:
  Socket() = default;
  // `peer` is what errors call the other side.
  Socket(int fd, std::string peer);
  Socket(Socket&& o) noexcept;
  Socket& operator=(Socket&& o) noexcept;
  ~Socket();

  // Port 0: one that is free.
  static Socket listen(const std::string& host, uint16_t port);
  // Tries again until a server listens there or the deadline has passed.
  static Socket connect(const std::string& host, uint16_t port, Deadline deadline);
  Socket accept(Deadline deadline) const;

  bool open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  const std::string& peer() const { return peer_; }
  void set_peer(std::string name) { peer_ = std::move(name); }
  uint16_t local_port() const;
  // The address by which the other side reaches this host.
  std::string local_host() const;

  // As many bytes as go without waiting. Errors: the other side is gone.
  size_t try_send(const void* data, size_t bytes) const;
  size_t try_receive(void* data, size_t bytes) const;
  void send(const void* data, size_t bytes, Deadline deadline) const;
  void receive(void* data, size_t bytes, Deadline deadline) const;

 private:
  int fd_ = -1;
  std::string peer_;
};

// Waits until `socket` can be read or written; false when the deadline has passed.
bool wait_readable(const Socket& socket, Deadline deadline);
bool wait_writable(const Socket& socket, Deadline deadline);
// Milliseconds until the deadline for poll(2), at least 0.
int poll_time(Deadline deadline);

}  // namespace cresset::distributed
