#pragma once
// Where the launchers of a job meet: a list of addresses, of which the first that lives has the store.

#include <optional>

#include "cresset/dist/store/tcp_store.h"

namespace cresset::distributed {

struct Endpoint {
  std::string host;
  uint16_t port = 29400;
};

// The store of the endpoint in charge. A launcher serves at the first endpoint that is this machine's and free. Its store takes charge where no endpoint in
// charge is found and no earlier one answers: so when the store in charge is lost, the next takes its place, empty. A launcher that is cut off from the
// others and serves itself may take charge of its own part: one endpoint only, or etcd, excludes that.
class CRESSET_API Endpoints {
 public:
  // `try_time` is how long one endpoint may take to answer. Where it is said whether this launcher serves, it does not, or does at one of the endpoints.
  // Errors: ValueError without an endpoint, DistNetworkError where it must serve and cannot.
  explicit Endpoints(std::vector<Endpoint> endpoints, std::chrono::milliseconds try_time = std::chrono::seconds(2), std::optional<bool> serves = std::nullopt);

  // How long a call of the stores that `connect` gives may take: one in a launcher that is stopped answers no more.
  void set_store_timeout(std::chrono::milliseconds timeout) { store_timeout_ = timeout; }
  // Errors: DistNetworkError where no endpoint is in charge in time.
  intrusive_ptr<Store> connect(std::chrono::milliseconds timeout);
  // Number of the endpoint that `connect` found last, and of the one that this launcher serves at, -1 where there is none.
  int in_charge() const { return in_charge_; }
  int own() const { return own_; }

 private:
  std::vector<Endpoint> endpoints_;
  std::chrono::milliseconds try_time_, store_timeout_ = Store::kDefaultTimeout;
  bool may_serve_;
  intrusive_ptr<TCPStore> served_;
  int own_ = -1, in_charge_ = -1;

  std::string serve();
  intrusive_ptr<TCPStore> reach(size_t number);
};

// "host:port,host:port"; a port may be left out. Errors: ValueError.
CRESSET_API std::vector<Endpoint> parse_endpoints(const std::string& text);

}  // namespace cresset::distributed
