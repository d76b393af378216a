#include "cresset/dist/transport/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "cresset/dist/errors.h"

namespace cresset::distributed {

namespace {

constexpr const char* kTimeUp = "the time is up";

std::string reason(int error) { return std::strerror(error); }

void prepare(int fd) {
  const int on = 1;
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses resolve(const std::string& host, uint16_t port, bool passive) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = passive ? AI_PASSIVE : 0;
  const int failed = getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &found);
  CRESSET_CHECK_AS(DistNetworkError, !failed, "dist: cannot resolve the host name '", host, "': ", gai_strerror(failed));
  return {found, freeaddrinfo};
}

bool wait_for(const Socket& socket, short events, Deadline deadline) {
  pollfd p{socket.fd(), events, 0};
  for (;;) {
    const int ready = poll(&p, 1, poll_time(deadline));
    if (ready > 0) return true;
    if (ready == 0) return false;
    CRESSET_CHECK_AS(DistNetworkError, errno == EINTR, "dist: poll failed: ", reason(errno));
  }
}

sockaddr_storage local_name(int fd) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  CRESSET_CHECK_AS(DistNetworkError, getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) == 0, "dist: getsockname failed: ", reason(errno));
  return name;
}

}  // namespace

int poll_time(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
}

bool wait_readable(const Socket& socket, Deadline deadline) { return wait_for(socket, POLLIN, deadline); }
bool wait_writable(const Socket& socket, Deadline deadline) { return wait_for(socket, POLLOUT, deadline); }

Socket::Socket(int fd, std::string peer) : fd_(fd), peer_(std::move(peer)) { prepare(fd); }
Socket::Socket(Socket&& o) noexcept : fd_(std::exchange(o.fd_, -1)), peer_(std::move(o.peer_)) {}
Socket& Socket::operator=(Socket&& o) noexcept {
  std::swap(fd_, o.fd_);
  std::swap(peer_, o.peer_);
  return *this;
}
Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Socket Socket::listen(const std::string& host, uint16_t port) {
  const Addresses addresses = resolve(host, port, true);
  int error = 0;
  for (const addrinfo* a = addresses.get(); a; a = a->ai_next) {
    const int fd = ::socket(a->ai_family, a->ai_socktype, a->ai_protocol);
    if (fd < 0) {
      error = errno;
      continue;
    }
    Socket made(fd, "a client");
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && ::listen(fd, 1024) == 0) return made;
    error = errno;
  }
  throw DistNetworkError(str("dist: cannot listen on ", host.empty() ? "any address" : host, " at port ", port, ": ", reason(error)));
}

Socket Socket::connect(const std::string& host, uint16_t port, Deadline deadline) {
  const std::string peer = str(host, ":", port);
  const Addresses addresses = resolve(host, port, false);
  auto pause = std::chrono::milliseconds(2);
  int error = 0;
  do {
    for (const addrinfo* a = addresses.get(); a; a = a->ai_next) {
      const int fd = ::socket(a->ai_family, a->ai_socktype, a->ai_protocol);
      if (fd < 0) {
        error = errno;
        continue;
      }
      Socket made(fd, peer);
      error = ::connect(fd, a->ai_addr, a->ai_addrlen) == 0 ? 0 : errno;
      if (error == EINPROGRESS && wait_writable(made, deadline)) {
        socklen_t size = sizeof error;
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
      }
      if (error == 0) return made;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(200));
  } while (std::chrono::steady_clock::now() < deadline);
  const std::string what = str("dist: could not connect to ", peer, " in time: ", reason(error));
  if (error == EINPROGRESS) throw DistTimeoutError(what);
  throw DistNetworkError(what);
}

Socket Socket::accept(Deadline deadline) const {
  for (;;) {
    CRESSET_CHECK_AS(DistNetworkError, wait_readable(*this, deadline), "dist: expected a connection in time, got none");
    const int fd = ::accept(fd_, nullptr, nullptr);
    if (fd >= 0) return Socket(fd, "a client");
    CRESSET_CHECK_AS(DistNetworkError, errno == EAGAIN || errno == EINTR || errno == ECONNABORTED, "dist: accept failed: ", reason(errno));
  }
}

uint16_t Socket::local_port() const {
  const sockaddr_storage name = local_name(fd_);
  return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(name).sin6_port : reinterpret_cast<const sockaddr_in&>(name).sin_port);
}

std::string Socket::local_host() const {
  const sockaddr_storage name = local_name(fd_);
  char text[NI_MAXHOST];
  const int failed = getnameinfo(reinterpret_cast<const sockaddr*>(&name), sizeof name, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  CRESSET_CHECK_AS(DistNetworkError, !failed, "dist: the own address is unknown: ", gai_strerror(failed));
  return text;
}

size_t Socket::try_send(const void* data, size_t bytes) const {
  const ssize_t sent = ::send(fd_, data, bytes, MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<size_t>(sent);
  CRESSET_CHECK_AS(DistNetworkError, errno == EAGAIN || errno == EINTR, "dist: sending to ", peer_, " failed: ", reason(errno));
  return 0;
}

size_t Socket::try_receive(void* data, size_t bytes) const {
  if (bytes == 0) return 0;
  const ssize_t got = recv(fd_, data, bytes, 0);
  if (got > 0) return static_cast<size_t>(got);
  CRESSET_CHECK_AS(DistNetworkError, got != 0, "dist: ", peer_, " has closed the connection");
  CRESSET_CHECK_AS(DistNetworkError, errno == EAGAIN || errno == EINTR, "dist: receiving from ", peer_, " failed: ", reason(errno));
  return 0;
}

void Socket::send(const void* data, size_t bytes, Deadline deadline) const {
  for (const char* at = static_cast<const char*>(data); bytes > 0;) {
    const size_t sent = try_send(at, bytes);
    at += sent;
    bytes -= sent;
    if (sent == 0) CRESSET_CHECK_AS(DistTimeoutError, wait_writable(*this, deadline), "dist: sending to ", peer_, ": ", kTimeUp);
  }
}

void Socket::receive(void* data, size_t bytes, Deadline deadline) const {
  for (char* at = static_cast<char*>(data); bytes > 0;) {
    const size_t got = try_receive(at, bytes);
    at += got;
    bytes -= got;
    if (got == 0) CRESSET_CHECK_AS(DistTimeoutError, wait_readable(*this, deadline), "dist: receiving from ", peer_, ": ", kTimeUp);
  }
}

}  // namespace cresset::distributed
