#include "cresset/dist/elastic/rendezvous.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

namespace cresset::distributed {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPause = std::chrono::milliseconds(20);
constexpr std::chrono::milliseconds kSuccession = std::chrono::seconds(10);  // those that are left are there already

std::string join(const std::vector<int64_t>& numbers) {
  std::string text;
  for (const int64_t n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
  return text;
}

std::vector<int64_t> split(const std::string& text) {
  std::vector<int64_t> numbers;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    char* end = nullptr;
    numbers.push_back(std::strtoll(part.c_str(), &end, 10));
    CRESSET_CHECK_VALUE(!part.empty() && *end == '\0', "rendezvous: expected numbers of nodes in the store, got '", text, "'");
  }
  return numbers;
}

}  // namespace

RendezvousConnect connect_at(std::shared_ptr<Endpoints> endpoints) {
  return [endpoints = std::move(endpoints)](std::chrono::milliseconds time) { return endpoints->connect(time); };
}
RendezvousConnect connect_at(EtcdStoreOptions etcd) {
  return [etcd = std::move(etcd)](std::chrono::milliseconds) { return open_etcd_store(etcd); };
}

ProcessStore process_store(const Round& round, const std::string& host, std::chrono::milliseconds timeout) {
  ProcessStore found;
  if (round.rank == 0) {
    TCPStoreOptions o;
    o.port = 0;
    o.isServer = true;
    try {
      found.served = make_intrusive<TCPStore>(host, o);
    } catch (const DistNetworkError& e) {
      throw DistBackendError(str("rendezvous: this node cannot serve a store for the processes at ", host, ": ", e.what()));
    }
    round.store->set("master", str(found.served->getPort(), " ", host));
  }
  round.store->wait({"master"}, timeout);
  std::istringstream master(round.store->get_to_str("master"));
  master >> found.port >> std::ws;
  std::getline(master, found.host);
  return found;
}

Rendezvous::Rendezvous(RendezvousConnect connect, RendezvousOptions options) : connect_(std::move(connect)), options_(std::move(options)) {
  CRESSET_CHECK_VALUE(options_.min_nodes > 0 && options_.min_nodes <= options_.max_nodes, "rendezvous: expected 0 < least <= largest number of nodes, got ",
                      options_.min_nodes, " and ", options_.max_nodes);
  attach(options_.connect_timeout);
}
Rendezvous::~Rendezvous() { stop_beating(); }

void Rendezvous::attach(std::chrono::milliseconds time) {
  base_ = connect_(time);
  store_ = make_intrusive<PrefixStore>(str("cresset.rendezvous.", options_.launcher, ".", options_.run_id), base_);
  round_ = -1;
}

Round Rendezvous::next(const std::function<bool()>& stop) {
  const Deadline end = after(options_.join_timeout);
  for (;;) {
    try {
      return next_over_this_store(end, stop);
    } catch (const DistNetworkError&) {
      stop_beating();
      if (Clock::now() >= end) throw;
    } catch (...) {
      stop_beating();
      throw;
    }
    attach(std::min(kSuccession, options_.connect_timeout));  // the store is lost: on with its successor
  }
}

Round Rendezvous::next_over_this_store(Deadline end, const std::function<bool()>& stop) {
  round_ = std::max(store_->add("round", 0), round_ + 1);
  if (took_part_) store_->add(key("again"), 1);
  for (;;) {
    const int64_t number = store_->add(key("joined"), 1);
    for (int64_t now = store_->add("round", 0); now < round_; now = store_->add("round", 0))
      store_->compareSet("round", std::to_string(now), std::to_string(round_));
    store_->set(key(str("node/", number)), str(base_->ownHost(), " ", getpid()));
    start_beating(number);
    const std::vector<int64_t> order = wait_for_final(end, stop);
    const auto place = std::find(order.begin(), order.end(), number);
    if (place != order.end()) {
      size_ = static_cast<int>(order.size());
      took_part_ = true;
      return {static_cast<int>(place - order.begin()), size_,
              make_intrusive<PrefixStore>(str("cresset.rendezvous.", options_.launcher, ".", options_.run_id, ".", round_), base_)};
    }
    // This round began without us: its nodes begin the next one when they see that a node waits for it.
    round_++;
  }
}

std::vector<int64_t> Rendezvous::wait_for_final(Deadline end, const std::function<bool()>& stop) {
  struct Seen {
    int64_t count = -1;
    Clock::time_point when;
  };
  std::map<int64_t, Seen> seen;
  constexpr Clock::time_point kNever = Clock::time_point::max();
  Clock::time_point enough_since = kNever;
  for (;; std::this_thread::sleep_for(kPause)) {
    if (store_->check({key("final")})) return split(store_->get_to_str(key("final")));
    if (store_->check({"closed"}) || (stop && stop())) throw RendezvousClosedError(str("rendezvous: the job '", options_.run_id, "' has ended"));
    const Clock::time_point now = Clock::now();
    std::vector<int64_t> alive;
    const int64_t joined = store_->add(key("joined"), 0);
    for (int64_t number = 1; number <= joined && alive.size() < static_cast<size_t>(options_.max_nodes); number++) {
      const int64_t count = store_->add(key(str("beat/", number)), 0);
      Seen& last = seen[number];
      if (last.count != count) last = {count, now};
      if (now - last.when < options_.beat * options_.missed_beats) alive.push_back(number);
    }
    if (alive.size() < static_cast<size_t>(options_.min_nodes)) enough_since = kNever;
    else if (enough_since == kNever) enough_since = now;
    if (alive.size() == static_cast<size_t>(options_.max_nodes) || (enough_since != kNever && now - enough_since >= options_.last_call)) {
      // Nodes have the order of their names, so that ranks stay the same where the same nodes meet again.
      std::map<int64_t, std::string> names;
      for (const int64_t number : alive) names[number] = store_->get_to_str(key(str("node/", number)));
      std::stable_sort(alive.begin(), alive.end(), [&](int64_t a, int64_t b) { return names[a] < names[b]; });
      store_->compareSet(key("final"), "", join(alive));
      continue;
    }
    if (now < end) continue;
    throw RendezvousTimeoutError(
        str("rendezvous: ", alive.size(), " nodes of at least ", options_.min_nodes, " have come within ", options_.join_timeout.count(), " ms"));
  }
}

int64_t Rendezvous::waiting() {
  if (!took_part_) return 0;
  try {
    return store_->add(str(round_ + 1, "/", size_ < options_.max_nodes ? "joined" : "again"), 0);
  } catch (const DistNetworkError&) { stop_beating(); }
  try {
    attach(std::chrono::milliseconds(0));
  } catch (const DistNetworkError&) {  // the processes may well end without it
  }
  return 0;
}

int64_t Rendezvous::beginning_again() { return store_->add(str(round_ + 1, "/again"), 0); }

bool Rendezvous::closed() {
  try {
    return store_->check({"closed"});
  } catch (const DistNetworkError&) { return false; }
}

bool Rendezvous::close() {
  stop_beating();
  try {
    store_->set("closed", std::string("1"));
    return true;
  } catch (const DistError&) { return false; }  // no node is left
}

void Rendezvous::start_beating(int64_t number) {
  stop_beating();
  stop_beating_ = false;
  heart_ = std::thread([this, store = store_->clone(), name = key(str("beat/", number))] {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stop_beating_) {
      lock.unlock();
      try {
        store->add(name, 1);
      } catch (const DistError&) { return; }
      lock.lock();
      stopped_.wait_for(lock, options_.beat, [this] { return stop_beating_; });
    }
  });
}

void Rendezvous::stop_beating() {
  if (!heart_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_beating_ = true;
  }
  stopped_.notify_all();
  heart_.join();
}

}  // namespace cresset::distributed
