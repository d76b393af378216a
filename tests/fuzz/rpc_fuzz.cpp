// Messages to a worker of RPC: as values and frames alone, and over a connection, in halves, before and after the handshake.

#include <sys/socket.h>

#include <sstream>

#include "cresset/dist/rpc/frame.h"
#include "cresset/dist/rpc/rpc.h"
#include "cresset/dist/transport/secret.h"
#include "tests/fuzz/fuzz.h"

using namespace cresset;
using namespace cresset::distributed;

namespace {

uint16_t worker_port() {
  static const uint16_t port = [] {
    rpc::RpcOptions o;
    o.store = make_intrusive<HashStore>(std::chrono::seconds(5));
    o.rank = 0;
    o.world_size = 1;
    rpc::register_function("echo", [](const rpc::Value& v) { return v; });
    rpc::init_rpc("fuzzed", o);
    std::istringstream parts(o.store->get_to_str("rpc_prefix_0/rpc/0"));
    std::string name, host;
    uint16_t n = 0;
    parts >> name >> host >> n;
    return n;
  }();
  return port;
}

void talk(const std::string& bytes, bool greets) {
  const Deadline end = after(std::chrono::minutes(2));
  const Socket socket = Socket::connect("127.0.0.1", worker_port(), end);
  if (greets) authenticate_as_client(socket, "", "rpc", end);
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
    const std::string once = rpc::encode(rpc::decode(bytes)), twice = rpc::encode(rpc::decode(once));
    if (once != twice) std::abort();
  });
  fuzz::expect_errors_only([&] { rpc::FrameReader().feed(bytes, [](uint64_t, const std::string&) {}); });
  // As a frame's content, then as frames.
  fuzz::expect_errors_only([&] { talk(rpc::frame_head(7, bytes.size()) + bytes + bytes, true); });
  if (fuzz::one_in(16, data, size)) fuzz::expect_errors_only([&] { talk(bytes, false); });
  return 0;
}
