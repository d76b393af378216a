#include "cresset/dist/elastic/rendezvous.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <thread>

namespace cresset::distributed {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPause = std::chrono::milliseconds(20);
constexpr std::chrono::milliseconds kSuccession = std::chrono::seconds(10);  // those that are left are there already
constexpr const char* kAllEnded = "all ended";
std::string heart_key(int rank) { return str("heart/", rank); }
std::string launcher_key(int rank) { return str("launcher/", rank); }
std::string ended_key(int rank) { return str("ended/", rank); }
std::string again_key(int rank) { return str("again/", rank); }

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

intrusive_ptr<Heart> show_life(const Round& round, std::chrono::milliseconds beat) {
  round.store->set(launcher_key(round.rank), str(round.store->ownHost(), ", process ", getpid()));
  return make_intrusive<Heart>(round.store, heart_key(round.rank), beat);
}

namespace {

// The other nodes of a round, as far as they have not ended.
class OtherNodes {
 public:
  OtherNodes(const Round& round, std::chrono::milliseconds life) : life_(life) {
    for (int rank = 0; rank < round.size; rank++)
      if (rank != round.rank) nodes_[rank];
  }

  bool empty() const { return nodes_.empty(); }
  int lost() const { return lost_; }
  // Drops those that have ended. Returns what is known of those whose hearts have stood still for too long, which are dropped too; no text where there are none.
  std::string look(Store& store) {
    std::string gone;
    for (auto at = nodes_.begin(); at != nodes_.end();) {
      const bool ended = store.check({ended_key(at->first)}), still = !ended && stands_still(store, at->first, at->second);
      if (still) {
        gone += (gone.empty() ? "" : ", ") + named(store, at->first);
        lost_++;
      }
      at = ended || still ? nodes_.erase(at) : std::next(at);
    }
    return gone;
  }
  // Begins to watch the hearts anew: they could not beat while the store was silent.
  void forget() {
    for (auto& [rank, seen] : nodes_) seen = {};
  }
  std::string described(Store& store) const {
    std::string text;
    for (const auto& [rank, seen] : nodes_) text += (text.empty() ? "" : ", ") + named(store, rank);
    return text;
  }

 private:
  struct Seen {
    int64_t beats = -1;
    Clock::time_point when;
  };
  std::map<int, Seen> nodes_;
  const std::chrono::milliseconds life_;
  int lost_ = 0;

  bool stands_still(Store& store, int rank, Seen& last) const {
    const int64_t beats = store.add(heart_key(rank), 0);
    if (beats != last.beats) last = {beats, Clock::now()};
    return beats > 0 && Clock::now() - last.when >= life_ && !store.check({again_key(rank)});
  }
  static std::string named(Store& store, int rank) {
    const std::string key = launcher_key(rank);
    return str("node ", rank, store.check({key}) ? " (" + store.get_to_str(key) + ")" : "");
  }
};

}  // namespace

int end_together(const Round& round, const EndOptions& o) {
  const intrusive_ptr<Store> store = brief(round.store);
  const auto warn = [&](const std::string& text) {
    if (o.warn) o.warn(text);
  };
  OtherNodes others(round, o.life);
  const Deadline end = after(o.timeout);
  Clock::time_point next_look{};
  std::optional<Clock::time_point> silent_since;
  for (;; std::this_thread::sleep_for(kPause)) {
    try {
      if (o.stop && o.stop()) return others.lost();
      if (Clock::now() >= next_look) {
        store->set(ended_key(round.rank), std::string());
        const std::string gone = others.look(*store);
        if (!gone.empty()) warn(str("rendezvous: no sign of life for ", o.life.count(), " ms from ", gone, "; the job ends without it"));
        if (others.empty()) store->set(kAllEnded, std::string());
        next_look = Clock::now() + o.life / 4;
      }
      if (store->check({kAllEnded})) return others.lost();
      silent_since.reset();
      if (Clock::now() < end) continue;
      warn(str("rendezvous: still running after ", o.timeout.count(), " ms: ", others.described(*store), "; this node ends without it"));
      return others.lost();
    } catch (const DistTimeoutError& e) {
      others.forget();
      const Clock::time_point now = Clock::now();
      if (!silent_since) silent_since = now;
      if (now - *silent_since < o.life && now < end) continue;
      const auto silence = std::chrono::duration_cast<std::chrono::milliseconds>(now - *silent_since);
      warn(str("rendezvous: no answer for ", silence.count(), " ms from the node with the store; this node ends without it: ", e.what()));
      return others.lost() + 1;
    } catch (const DistNetworkError&) {
      return others.lost();  // the node with the store has ended, or is gone
    } catch (const Error& e) {
      warn(str("rendezvous: the store of the job has failed; this node ends without the others: ", e.what()));
      return others.lost();
    }
  }
}

Rendezvous::Rendezvous(RendezvousConnect connect, RendezvousOptions options) : connect_(std::move(connect)), options_(std::move(options)) {
  CRESSET_CHECK_VALUE(options_.min_nodes > 0 && options_.min_nodes <= options_.max_nodes, "rendezvous: expected 0 < least <= largest number of nodes, got ",
                      options_.min_nodes, " and ", options_.max_nodes);
  attach(options_.connect_timeout);
}
Rendezvous::~Rendezvous() = default;

void Rendezvous::attach(std::chrono::milliseconds time) {
  base_ = connect_(time);
  store_ = make_intrusive<PrefixStore>(str("cresset.rendezvous.", options_.launcher, ".", options_.run_id), base_);
  brief_ = brief(store_);
  round_ = -1;
  last_.store = nullptr;
  silent_since_.reset();
}

Round Rendezvous::next(const std::function<bool()>& stop) {
  const Deadline end = after(options_.join_timeout);
  for (;;) {
    try {
      return next_over_this_store(end, stop);
    } catch (const DistNetworkError&) {
      heart_ = nullptr;
      if (Clock::now() >= end) throw;
    } catch (...) {
      heart_ = nullptr;
      throw;
    }
    attach(std::min(kSuccession, options_.connect_timeout));  // the store is lost: on with its successor
  }
}

Round Rendezvous::next_over_this_store(Deadline end, const std::function<bool()>& stop) {
  round_ = std::max(store_->add("round", 0), round_ + 1);
  if (took_part_) store_->add(key("again"), 1);
  if (last_.store) last_.store->set(again_key(last_.rank), std::string());
  for (;;) {
    const int64_t number = store_->add(key("joined"), 1);
    for (int64_t now = store_->add("round", 0); now < round_; now = store_->add("round", 0))
      store_->compareSet("round", std::to_string(now), std::to_string(round_));
    store_->set(key(str("node/", number)), str(base_->ownHost(), " ", getpid()));
    heart_ = make_intrusive<Heart>(store_, key(str("beat/", number)), options_.beat);
    const std::vector<int64_t> order = wait_for_final(end, stop);
    const auto place = std::find(order.begin(), order.end(), number);
    if (place != order.end()) {
      took_part_ = true;
      last_ = {static_cast<int>(place - order.begin()), static_cast<int>(order.size()),
               make_intrusive<PrefixStore>(str("cresset.rendezvous.", options_.launcher, ".", options_.run_id, ".", round_), base_)};
      heart_ = show_life(last_, options_.beat);
      return last_;
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
      if (now - last.when < options_.life()) alive.push_back(number);
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
    const int64_t count = brief_->add(str(round_ + 1, "/", last_.size < options_.max_nodes ? "joined" : "again"), 0);
    silent_since_.reset();
    return count;
  } catch (const DistTimeoutError&) {
    if (!silent_since_) silent_since_ = Clock::now();
    if (Clock::now() - *silent_since_ < base_->getTimeout()) return 0;
  } catch (const DistNetworkError&) {}
  try {
    attach(std::chrono::milliseconds(0));
    heart_ = nullptr;
  } catch (const DistNetworkError&) {  // the processes may well end without it
  }
  return 0;
}

int64_t Rendezvous::beginning_again() { return brief_->add(str(round_ + 1, "/again"), 0); }

bool Rendezvous::closed() {
  try {
    return brief_->check({"closed"});
  } catch (const DistNetworkError&) { return false; }
}

bool Rendezvous::close() {
  heart_ = nullptr;
  const intrusive_ptr<Store> store = store_->clone();
  store->setTimeout(std::min(store->getTimeout(), options_.life()));
  try {
    store->set("closed", std::string("1"));
    return true;
  } catch (const DistError&) { return false; }  // no node is left
}

}  // namespace cresset::distributed
