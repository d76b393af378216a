#include "cresset/dist/transport/secret.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cresset/dist/errors.h"

namespace cresset::distributed {

namespace {

constexpr size_t kBlock = 64;
constexpr char kMagic[8] = {'c', 'r', 's', 'd', 'i', 's', 't', '1'};
constexpr uint32_t kRounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74,
    0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d,
    0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e,
    0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5,
    0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t turned(uint32_t x, int n) { return (x >> n) | (x << (32 - n)); }

void compress(uint32_t (&state)[8], const uint8_t* block) {
  uint32_t w[64];
  for (int i = 0; i < 16; i++) w[i] = uint32_t{block[4 * i]} << 24 | uint32_t{block[4 * i + 1]} << 16 | uint32_t{block[4 * i + 2]} << 8 | block[4 * i + 3];
  for (int i = 16; i < 64; i++) {
    const uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (turned(a, 7) ^ turned(a, 18) ^ (a >> 3)) + w[i - 7] + (turned(b, 17) ^ turned(b, 19) ^ (b >> 10));
  }
  uint32_t s[8];
  std::memcpy(s, state, sizeof s);
  for (int i = 0; i < 64; i++) {
    const uint32_t first = s[7] + (turned(s[4], 6) ^ turned(s[4], 11) ^ turned(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + kRounds[i] + w[i];
    const uint32_t second = (turned(s[0], 2) ^ turned(s[0], 13) ^ turned(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    std::memmove(s + 1, s, 7 * sizeof *s);
    s[4] += first;
    s[0] = first + second;
  }
  for (int i = 0; i < 8; i++) state[i] += s[i];
}

std::string text_of(const Digest& d) { return {reinterpret_cast<const char*>(d.data()), d.size()}; }

void fill_randomly(std::string& bytes, size_t from) {
  for (size_t at = from; at < bytes.size();) {
    const ssize_t got = getrandom(bytes.data() + at, bytes.size() - at, 0);
    CRESSET_CHECK(got > 0 || errno == EINTR, "dist: no random numbers: ", std::strerror(errno));
    if (got > 0) at += static_cast<size_t>(got);
  }
}
std::string challenge() {
  std::string bytes(kChallengeBytes, '\0');
  std::memcpy(bytes.data(), kMagic, sizeof kMagic);
  fill_randomly(bytes, sizeof kMagic);
  return bytes;
}

std::string answer(const std::string& secret, const std::string& service, const char* role, const std::string& server, const std::string& client) {
  return text_of(hmac_sha256(secret, service + '\0' + role + '\0' + server + client));
}

// Takes the same time wherever the two differ.
bool same(const std::string& a, const std::string& b) {
  unsigned char differ = a.size() != b.size();
  for (size_t i = 0; i < a.size() && i < b.size(); i++) differ = static_cast<unsigned char>(differ | (a[i] ^ b[i]));
  return !differ;
}

void check_magic(const std::string& bytes, const std::string& peer, const std::string& service) {
  CRESSET_CHECK_AS(DistNetworkError, std::memcmp(bytes.data(), kMagic, sizeof kMagic) == 0, "dist: ", peer, " is no ", service, " of Cresset");
}
void check_answer(bool right, const std::string& peer, const std::string& service) {
  CRESSET_CHECK_AS(DistNetworkError, right, "dist: ", peer, " (", service,
                   ") does not know the secret of this job; set CRESSET_DIST_SECRET to the same text everywhere");
}

std::string received(const Socket& socket, size_t bytes, Deadline deadline) {
  std::string data(bytes, '\0');
  socket.receive(data.data(), bytes, deadline);
  return data;
}

}  // namespace

Digest sha256(const std::string& data) {
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::string padded = data + '\x80';
  padded.resize((padded.size() + 8 + kBlock - 1) / kBlock * kBlock);
  const uint64_t bits = uint64_t{data.size()} * 8;
  for (size_t i = 0; i < 8; i++) padded[padded.size() - 1 - i] = static_cast<char>(bits >> (8 * i));
  for (size_t at = 0; at < padded.size(); at += kBlock) compress(state, reinterpret_cast<const uint8_t*>(padded.data()) + at);
  Digest digest;
  for (size_t i = 0; i < digest.size(); i++) digest[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Digest hmac_sha256(const std::string& key, const std::string& data) {
  std::string inner = key.size() > kBlock ? text_of(sha256(key)) : key;
  inner.resize(kBlock);
  std::string outer = inner;
  for (char& c : inner) c = static_cast<char>(c ^ 0x36);
  for (char& c : outer) c = static_cast<char>(c ^ 0x5c);
  return sha256(outer + text_of(sha256(inner + data)));
}

std::string job_secret() {
  const char* secret = std::getenv("CRESSET_DIST_SECRET");
  return secret ? secret : "";
}
std::string random_secret() {
  std::string bytes(16, '\0'), text;
  fill_randomly(bytes, 0);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

void authenticate_as_client(const Socket& socket, const std::string& secret, const std::string& service, Deadline deadline) {
  const std::string server = received(socket, kChallengeBytes, deadline), own = challenge();
  check_magic(server, socket.peer(), service);
  const std::string bytes = own + answer(secret, service, "client", server, own);
  socket.send(bytes.data(), bytes.size(), deadline);
  std::string got;
  try {
    got = received(socket, kAnswerBytes, deadline);
  } catch (const DistNetworkError&) {
    check_answer(std::chrono::steady_clock::now() > deadline, socket.peer(), service);  // it hung up on us
    throw;
  }
  check_answer(same(got, answer(secret, service, "server", server, own)), socket.peer(), service);
}

void authenticate_as_server(const Socket& socket, const std::string& secret, const std::string& service, Deadline deadline) {
  const ServerHandshake handshake(secret, service);
  const std::string hello = handshake.hello();
  socket.send(hello.data(), hello.size(), deadline);
  const std::string reply = handshake.accept(received(socket, ServerHandshake::wanted(), deadline));
  socket.send(reply.data(), reply.size(), deadline);
}

ServerHandshake::ServerHandshake(std::string secret, std::string service) : secret_(std::move(secret)), service_(std::move(service)), own_(challenge()) {}

std::string ServerHandshake::accept(const std::string& bytes) const {
  const std::string client = bytes.substr(0, kChallengeBytes);
  check_magic(client, "a client", service_);
  check_answer(same(bytes.substr(kChallengeBytes), answer(secret_, service_, "client", own_, client)), "a client", service_);
  return answer(secret_, service_, "server", own_, client);
}

}  // namespace cresset::distributed
