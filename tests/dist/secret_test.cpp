// Digests against the vectors of FIPS 180-4 and RFC 4231, and who is let in by a server.

#include "cresset/dist/transport/secret.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "cresset/dist/store/tcp_store.h"
#include "error_of.h"

namespace cresset::distributed {
namespace {

using std::chrono::milliseconds;

std::string hex(const Digest& d) {
  std::string text;
  for (const uint8_t b : d) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", b);
    text += two;
  }
  return text;
}

TEST(Secret, Sha256) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(std::string(1000000, 'a'))), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Secret, HmacSha256) {
  EXPECT_EQ(hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

// Sets CRESSET_DIST_SECRET for a while.
class JobSecret {
 public:
  explicit JobSecret(const char* text) { setenv("CRESSET_DIST_SECRET", text, 1); }
  ~JobSecret() { unsetenv("CRESSET_DIST_SECRET"); }
};

intrusive_ptr<TCPStore> server(const char* secret) {
  const JobSecret set(secret);
  TCPStoreOptions o;
  o.port = 0;
  o.isServer = true;
  return make_intrusive<TCPStore>("127.0.0.1", o);
}

TEST(Secret, AClientWithAnotherOneIsRefusedAtOnce) {
  const auto store = server("right");
  TCPStoreOptions o;
  o.port = store->getPort();
  o.timeout = std::chrono::seconds(20);
  const auto before = std::chrono::steady_clock::now();
  {
    const JobSecret set("wrong");
    EXPECT_NE(error_of([&] { TCPStore s("127.0.0.1", o); }).find("does not know the secret"), std::string::npos);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(5));
  const JobSecret set("right");
  TCPStore s("127.0.0.1", o);
  s.set("k", std::string("v"));
  EXPECT_EQ(store->get_to_str("k"), "v");
}

// Noise of every length, and messages cut anywhere, close the sender's connection and disturb no other.
TEST(Secret, GarbageOnThePortHarmsNobody) {
  const auto store = server("");
  uint32_t state = 7;
  auto random = [&] { return state = state * 1664525u + 1013904223u; };
  for (int i = 0; i < 200; i++) {
    const Socket s = Socket::connect("127.0.0.1", store->getPort(), after(milliseconds(2000)));
    if (i % 2 == 0) authenticate_as_client(s, "", "store", after(milliseconds(2000)));
    std::string noise(random() % 300, '\0');
    for (char& c : noise) c = static_cast<char>(random() >> 16);
    if (i % 4 == 0 && noise.size() > 8) noise.replace(0, 4, std::string("\x20\0\0\0", 4));  // a length that is believed
    try {
      s.send(noise.data(), noise.size(), after(milliseconds(500)));
    } catch (const DistNetworkError&) {}  // it has hung up already
  }
  store->set("k", std::string("v"));
  EXPECT_EQ(store->get_to_str("k"), "v");
}

TEST(Secret, AServerIsReachedByItsAddressAlone) {
  const auto store = server("");
  TCPStoreOptions o;
  o.port = store->getPort();
  o.timeout = milliseconds(200);
  EXPECT_NE(error_of([&] { TCPStore s("127.0.0.2", o); }).find("could not connect"), std::string::npos);
}

}  // namespace
}  // namespace cresset::distributed
