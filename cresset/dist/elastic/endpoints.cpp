#include "cresset/dist/elastic/endpoints.h"

#include <cstdlib>
#include <sstream>
#include <thread>

#include "cresset/dist/transport/deadline.h"

namespace cresset::distributed {

namespace {

constexpr const char* kInCharge = "cresset.endpoint in charge";
constexpr auto kRetryPause = std::chrono::milliseconds(50);

}  // namespace

Endpoints::Endpoints(std::vector<Endpoint> endpoints, std::chrono::milliseconds try_time, std::optional<bool> serves)
    : endpoints_(std::move(endpoints)), try_time_(try_time), may_serve_(serves.value_or(true)) {
  CRESSET_CHECK_VALUE(!endpoints_.empty(), "rendezvous: expected an endpoint host:port, got none");
  const std::string reason = serve();
  CRESSET_CHECK_AS(DistNetworkError, own_ >= 0 || !serves.value_or(false), "rendezvous: this node is to serve and cannot: ", reason);
}

// Why it does not serve at the last endpoint.
std::string Endpoints::serve() {
  std::string reason;
  if (!may_serve_) return reason;
  for (size_t i = 0; i < endpoints_.size() && own_ < 0; i++) {
    TCPStoreOptions o;
    o.port = endpoints_[i].port;
    o.isServer = true;
    try {
      served_ = make_intrusive<TCPStore>(endpoints_[i].host, o);
      endpoints_[i].port = served_->getPort();
      own_ = static_cast<int>(i);
    } catch (const DistNetworkError& e) { reason = e.what(); }  // another machine's address, or another launcher of this machine has it
  }
  return reason;
}

intrusive_ptr<TCPStore> Endpoints::reach(size_t number) {
  if (static_cast<int>(number) == own_) return served_;
  TCPStoreOptions o;
  o.port = endpoints_[number].port;
  o.timeout = try_time_;
  try {
    return make_intrusive<TCPStore>(endpoints_[number].host, o);
  } catch (const DistError&) { return nullptr; }
}

intrusive_ptr<Store> Endpoints::connect(std::chrono::milliseconds timeout) {
  const Deadline end = after(timeout);
  for (;;) {
    bool earlier_lives = false;
    for (size_t i = 0; i < endpoints_.size(); i++) {
      const intrusive_ptr<TCPStore> store = reach(i);
      if (!store) continue;
      try {
        if (store->check({kInCharge})) {
          in_charge_ = static_cast<int>(i);
          store->setTimeout(store_timeout_);
          return store;
        }
      } catch (const DistError&) { continue; }  // it ended in between
      if (static_cast<int>(i) < own_) earlier_lives = true;
    }
    if (own_ >= 0 && !earlier_lives) {
      served_->set(kInCharge, "1");
      continue;
    }
    CRESSET_CHECK_AS(DistNetworkError, std::chrono::steady_clock::now() < end, "rendezvous: none of ", endpoints_.size(), " endpoints, the first of them ",
                     endpoints_[0].host, ":", endpoints_[0].port, ", has a store in charge after ", timeout.count(), " ms");
    std::this_thread::sleep_for(kRetryPause);
    if (own_ < 0) serve();  // an address may have become free
  }
}

std::vector<Endpoint> parse_endpoints(const std::string& text) {
  std::vector<Endpoint> found;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    Endpoint e;
    const size_t colon = part.rfind(':');
    e.host = part.substr(0, colon);
    if (colon != std::string::npos) {
      char* end = nullptr;
      const std::string digits = part.substr(colon + 1);
      const long port = std::strtol(digits.c_str(), &end, 10);
      CRESSET_CHECK_VALUE(!digits.empty() && *end == '\0' && port >= 0 && port <= 65535, "rendezvous: expected host:port, got '", part, "'");
      e.port = static_cast<uint16_t>(port);
    }
    CRESSET_CHECK_VALUE(!e.host.empty(), "rendezvous: expected host:port, got '", part, "'");
    found.push_back(e);
  }
  CRESSET_CHECK_VALUE(!found.empty(), "rendezvous: expected endpoints host:port, got '", text, "'");
  return found;
}

}  // namespace cresset::distributed
