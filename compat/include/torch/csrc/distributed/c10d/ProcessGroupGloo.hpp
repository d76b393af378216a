#pragma once
// Groups over Gloo as LibTorch's programs make them: with options that name devices of the network.

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>

#include <memory>
#include <string>
#include <vector>

#include "cresset/dist/group/process_group.h"
#include "torch/csrc/distributed/c10d/namespace.h"

namespace c10d {

class ProcessGroupGloo : public EngineGroup {
 public:
  // By which the network is reached; empty: that by which the store is.
  struct Device {
    std::string interface;
  };
  struct Options : c10::intrusive_ptr_target {
    std::chrono::milliseconds timeout = kProcessGroupDefaultTimeout;
    std::vector<std::shared_ptr<Device>> devices;
    int threads = 2;  // calls of a group run one after another, whatever the number
    explicit Options(std::chrono::milliseconds timeout = kProcessGroupDefaultTimeout) : timeout(timeout) {}
    static c10::intrusive_ptr<Options> create(std::chrono::milliseconds timeout = kProcessGroupDefaultTimeout) {
      return c10::make_intrusive<Options>(timeout);
    }
  };
  static std::shared_ptr<Device> createDeviceForInterface(const std::string& interface) { return std::make_shared<Device>(Device{interface}); }
  // Errors: ValueError, a name that is none of this host's.
  static std::shared_ptr<Device> createDeviceForHostname(const std::string& host) { return createDeviceForInterface(interface_of(host)); }
  static std::shared_ptr<Device> createDefaultDevice() { return std::make_shared<Device>(); }

  // Errors: those of EngineGroup; ValueError, several devices.
  ProcessGroupGloo(const c10::intrusive_ptr<Store>& store, int rank, int size, const c10::intrusive_ptr<Options>& options = Options::create())
      : EngineGroup(store, rank, size, converted(*options)) {}
  ProcessGroupGloo(const c10::intrusive_ptr<Store>& store, int rank, int size, const EngineGroupOptions& options) : EngineGroup(store, rank, size, options) {}

 private:
  static std::string interface_of(const std::string& host) {
    addrinfo* found = nullptr;
    ifaddrs* own = nullptr;
    addrinfo wanted{};
    wanted.ai_family = AF_INET;
    std::string name;
    if (getaddrinfo(host.c_str(), nullptr, &wanted, &found) == 0 && getifaddrs(&own) == 0)
      for (const ifaddrs* i = own; i; i = i->ifa_next)
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && address(i->ifa_addr) == address(found->ai_addr)) name = i->ifa_name;
    if (found) freeaddrinfo(found);
    if (own) freeifaddrs(own);
    TORCH_CHECK_VALUE(!name.empty(), "ProcessGroupGloo: expected a name of this host, got ", host);
    return name;
  }
  static uint32_t address(const sockaddr* a) { return reinterpret_cast<const sockaddr_in*>(a)->sin_addr.s_addr; }
  static EngineGroupOptions converted(const Options& o) {
    TORCH_CHECK_VALUE(o.devices.size() <= 1, "ProcessGroupGloo: expected one device, got ", o.devices.size());
    EngineGroupOptions out;
    out.timeout = o.timeout;
    if (!o.devices.empty()) out.interface = o.devices[0]->interface;
    return out;
  }
};

}  // namespace c10d
