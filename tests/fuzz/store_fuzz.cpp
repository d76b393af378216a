// Requests to the server of a TCPStore: as frames alone, and over a connection, whole and in halves, before and after the handshake.

#include <sys/socket.h>

#include "cresset/dist/store/frame.h"
#include "cresset/dist/store/tcp_server.h"
#include "tests/fuzz/fuzz.h"

using namespace cresset;
using namespace cresset::distributed;

namespace {

StoreServer& server() {
  static std::unique_ptr<StoreServer> one;
  static int inputs = 0;
  // Keys that requests have set take memory.
  if (!one || ++inputs % 2000 == 0) one = std::make_unique<StoreServer>("127.0.0.1", 0, "");
  return *one;
}

void talk(const std::string& bytes, bool greets) {
  const Deadline end = after(std::chrono::minutes(2));
  const Socket socket = Socket::connect("127.0.0.1", server().port(), end);
  if (greets) authenticate_as_client(socket, "", kStoreService, end);
  const size_t half = bytes.size() / 2;
  socket.send(bytes.data(), half, end);
  socket.send(bytes.data() + half, bytes.size() - half, end);
  shutdown(socket.fd(), SHUT_WR);
  char answer[4096];
  for (;;) {
    fuzz::await_answer(socket);
    socket.try_receive(answer, sizeof answer);  // an error at the end
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  [[maybe_unused]] static const bool placed = (fuzz::stay_on_one_core(), true);
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  fuzz::expect_errors_only([&] {
    const Frame f = decode_frame(bytes.data(), bytes.size());
    const std::string again = encode_frame(f);
    if (again.substr(kFrameHead) != bytes) std::abort();
  });
  fuzz::expect_errors_only([&] {
    if (size >= kFrameHead) frame_size(bytes.data());
  });
  fuzz::expect_errors_only([&] { ServerHandshake("secret", kStoreService).accept(bytes.substr(0, ServerHandshake::wanted())); });
  fuzz::expect_errors_only([&] { talk(bytes, true); });
  if (fuzz::one_in(16, data, size)) fuzz::expect_errors_only([&] { talk(bytes, false); });
  return 0;
}
