#pragma once
// The secret that the processes of a job share, and the exchange by which two of them show each other that they know it.

#include <array>
#include <string>

#include "cresset/dist/transport/socket.h"

namespace cresset::distributed {

using Digest = std::array<uint8_t, 32>;
// FIPS 180-4 and RFC 2104.
CRESSET_API Digest sha256(const std::string& data);
CRESSET_API Digest hmac_sha256(const std::string& key, const std::string& data);

// CRESSET_DIST_SECRET; empty where it is not set: anybody who reaches the port is let in.
CRESSET_API std::string job_secret();
// A new one, for a job that has none. Errors: Error where the system has no random numbers.
CRESSET_API std::string random_secret();

// Each side sends a random challenge and answers the other's with a digest of both challenges, its role and `service` under the secret.
// Errors: DistNetworkError where the other side does not know the secret, or speaks of another service, or is late.
constexpr size_t kChallengeBytes = 40, kAnswerBytes = 32;
CRESSET_API void authenticate_as_client(const Socket& socket, const std::string& secret, const std::string& service, Deadline deadline);
CRESSET_API void authenticate_as_server(const Socket& socket, const std::string& secret, const std::string& service, Deadline deadline);

// The server's half for one that must not wait: it sends `hello()`, and when as many bytes as `wanted()` have come, hands them over.
class CRESSET_API ServerHandshake {
 public:
  ServerHandshake(std::string secret, std::string service);
  std::string hello() const { return own_; }
  static constexpr size_t wanted() { return kChallengeBytes + kAnswerBytes; }
  // Answer to the client. Errors: DistNetworkError where it is not one that knows the secret.
  std::string accept(const std::string& bytes) const;

 private:
  const std::string secret_, service_, own_;
};

}  // namespace cresset::distributed
