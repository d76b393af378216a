// The store of a job in etcd, over its HTTP gateway (etcd's documentation, "gRPC gateway", v3), in a library of its own that is opened at first use.
//
// A key K is etcd's key PREFIX "v" K. The values of a queue Q are keys PREFIX "q" LENGTH ":" Q "/" UNIQUE, in the order of their creation.
// A lease on a name is PREFIX "l" NAME, which holds its owner and ends with a lease of etcd's. Every change is one transaction.

#include "cresset/dist/store/etcd_store.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "cresset/dist/store/etcd/http.h"
#include "cresset/dist/store/table.h"
#include "cresset/dist/transport/secret.h"

namespace cresset::distributed {

namespace {

using etcd::base64;
using etcd::from_base64;
using Json = nlohmann::json;

// Etcd's limit on operations of a transaction.
constexpr size_t kMostOperations = 128;

Json parsed(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  CRESSET_CHECK_AS(DistNetworkError, json.is_object(), "etcd: an answer is no JSON object: ", text.substr(0, 200));
  return json;
}
// Whole numbers are texts, and left out where they are 0.
int64_t number(const Json& json, const char* name) {
  const auto at = json.find(name);
  return at == json.end() || !at->is_string() ? 0 : std::atoll(at->get_ref<const std::string&>().c_str());
}
std::string bytes_of(const Json& json, const char* name) {
  const auto at = json.find(name);
  return at == json.end() || !at->is_string() ? std::string() : from_base64(at->get_ref<const std::string&>());
}
std::string after_prefix(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (!prefix.empty()) prefix.back()++;
  return prefix;
}

struct Entry {
  std::string key, value;
  int64_t created = 0, changed = 0, lease = 0;
};
struct Found {
  std::vector<Entry> entries;
  int64_t count = 0, revision = 0;
};

// Whether a transaction's comparison held, and the answers of the operations that were then done; those of puts are empty.
struct Outcome {
  bool held = false;
  std::vector<Found> answers;
  int64_t deleted = 0;
};

Json range_of(const std::string& key) { return {{"key", base64(key)}}; }
Json range_of_prefix(const std::string& prefix) { return {{"key", base64(prefix)}, {"range_end", base64(after_prefix(prefix))}}; }
Json put_of(const std::string& key, const std::string& value, int64_t lease = 0) {
  Json put = {{"key", base64(key)}, {"value", base64(value)}};
  if (lease) put["lease"] = std::to_string(lease);
  return {{"request_put", std::move(put)}};
}
Json delete_of(const std::string& key) { return {{"request_delete_range", range_of(key)}}; }
Json get_of(const std::string& key) { return {{"request_range", range_of(key)}}; }
Json is_absent(const std::string& key) { return {{"key", base64(key)}, {"target", "CREATE"}, {"result", "EQUAL"}, {"create_revision", "0"}}; }
Json is_unchanged(const std::string& key, int64_t revision) {
  return {{"key", base64(key)}, {"target", "MOD"}, {"result", "EQUAL"}, {"mod_revision", std::to_string(revision)}};
}
Json holds(const std::string& key, const std::string& value) {
  return {{"key", base64(key)}, {"target", "VALUE"}, {"result", "EQUAL"}, {"value", base64(value)}};
}

Found found_in(const Json& answer) {
  Found f;
  f.count = number(answer, "count");
  if (const auto header = answer.find("header"); header != answer.end()) f.revision = number(*header, "revision");
  if (const auto list = answer.find("kvs"); list != answer.end())
    for (const Json& kv : *list)
      f.entries.push_back({bytes_of(kv, "key"), bytes_of(kv, "value"), number(kv, "create_revision"), number(kv, "mod_revision"), number(kv, "lease")});
  return f;
}

// The lease under which a store puts its keys.
struct Life {
  std::mutex mutex;
  int64_t lease = 0;
  Deadline renewal{};
};

class EtcdStore final : public Store {
 public:
  explicit EtcdStore(const EtcdStoreOptions& o)
      : Store(o.timeout), http_(std::make_shared<etcd::Http>(o.endpoints)), prefix_(o.prefix), seconds_(o.life.count()), life_(std::make_shared<Life>()) {
    range(range_of(prefix_), end());  // whether an endpoint answers
  }
  EtcdStore(const EtcdStore& other) : Store(other.timeout_), http_(other.http_), prefix_(other.prefix_), seconds_(other.seconds_), life_(other.life_) {}

  using Store::compareSet;
  using Store::set;
  using Store::wait;
  void set(const std::string& key, const Bytes& value) override { transact({}, Json::array({put_of(value_key(key), to_text(value), lease())}), {}); }
  Bytes get(const std::string& key) override { return std::move(multiGet({key})[0]); }

  int64_t add(const std::string& key, int64_t amount) override {
    int64_t sum = 0;
    change(key, [&](const Entry* held) {
      Table table;
      if (held) table.values[key] = held->value;
      sum = table.add(key, amount);
      return table.values[key];
    });
    return sum;
  }
  void append(const std::string& key, const Bytes& value) override {
    change(key, [&](const Entry* held) { return (held ? held->value : std::string()) + to_text(value); });
  }
  Bytes compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) override {
    const std::string at = value_key(key), before = to_text(expected), after = to_text(desired);
    const Json put = Json::array({put_of(at, after, lease())}), look = Json::array({get_of(at)});
    if (before.empty() && transact(Json::array({is_absent(at)}), put, {}).held) return desired;
    const Outcome now = transact(Json::array({holds(at, before)}), put, look);
    if (now.held) return desired;
    const Found& f = now.answers.at(0);
    return f.entries.empty() ? expected : to_bytes(f.entries[0].value);
  }
  bool check(const std::vector<std::string>& keys) override {
    return std::all_of(keys.begin(), keys.end(), [&](const std::string& key) {
      Json question = range_of(value_key(key));
      question["count_only"] = true;
      return range(question, end()).count > 0 || queueLen(key) > 0;
    });
  }
  bool deleteKey(const std::string& key) override {
    const Json queue = {{"request_delete_range", range_of_prefix(queue_key(key))}};
    return transact({}, Json::array({delete_of(value_key(key)), queue}), {}).deleted > 0;
  }
  int64_t getNumKeys() override { return static_cast<int64_t>(listKeys().size()); }
  std::vector<std::string> listKeys() override {
    std::vector<std::string> all;
    for (const char kind : {'v', 'q'}) {
      const std::string before = prefix_ + kind;
      Json question = range_of_prefix(before);
      question["keys_only"] = true;
      for (const Entry& e : range(question, end()).entries) {
        std::string name = e.key.substr(before.size());
        if (kind == 'q') {
          const size_t colon = name.find(':');
          name = name.substr(colon + 1, static_cast<size_t>(std::atoll(name.c_str())));
        }
        if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(std::move(name));
      }
    }
    return all;
  }
  void wait(const std::vector<std::string>& keys, const Timeout& timeout) override {
    const Deadline last = after(timeout);
    for (const std::string& key : keys) {
      for (;;) {
        const Found f = range(range_of(value_key(key)), std::max(last, after(kShortest)));
        if (!f.entries.empty()) break;
        if (std::chrono::steady_clock::now() >= last) throw_missing(keys, timeout.count(), [&](const std::string& k) { return check({k}); });
        watch(range_of(value_key(key)), f.revision + 1, last);
      }
    }
  }

  bool hasExtendedApi() const override { return true; }
  std::vector<Bytes> multiGet(const std::vector<std::string>& keys) override {
    wait(keys, timeout_);
    std::vector<Bytes> values;
    for (size_t at = 0; at < keys.size(); at += kMostOperations) {
      Json looks = Json::array();
      for (size_t i = at; i < std::min(keys.size(), at + kMostOperations); i++) looks.push_back(get_of(value_key(keys[i])));
      for (const Found& f : transact({}, looks, {}).answers) {
        CRESSET_CHECK_AS(DistStoreError, !f.entries.empty(), "store: a key was deleted while it was read");
        values.push_back(to_bytes(f.entries[0].value));
      }
    }
    return values;
  }
  // At once, as far as etcd does so many.
  void multiSet(const std::vector<std::string>& keys, const std::vector<Bytes>& values) override {
    CRESSET_CHECK_VALUE(keys.size() == values.size(), "store: multi_set: expected as many values as keys, got ", keys.size(), " keys and ", values.size(),
                        " values");
    for (size_t at = 0; at < keys.size(); at += kMostOperations) {
      Json puts = Json::array();
      for (size_t i = at; i < std::min(keys.size(), at + kMostOperations); i++) puts.push_back(put_of(value_key(keys[i]), to_text(values[i]), lease()));
      transact({}, puts, {});
    }
  }

  void queuePush(const std::string& key, const Bytes& value) override {
    static const std::string process = random_secret();
    static std::atomic<uint64_t> count{0};
    transact({}, Json::array({put_of(str(queue_key(key), process, " ", ++count), to_text(value), lease())}), {});
  }
  Bytes queuePop(const std::string& key, bool block) override {
    const Deadline last = after(block ? timeout_ : kNoTimeout);
    Json question = range_of_prefix(queue_key(key));
    question["sort_target"] = "CREATE";
    question["sort_order"] = "ASCEND";
    question["limit"] = "1";
    for (;;) {
      const Found f = range(question, std::max(last, after(kShortest)));
      if (!f.entries.empty()) {
        const Entry& oldest = f.entries[0];
        if (transact(Json::array({is_unchanged(oldest.key, oldest.changed)}), Json::array({delete_of(oldest.key)}), {}).held) return to_bytes(oldest.value);
        continue;  // another has taken it
      }
      CRESSET_CHECK_AS(DistQueueEmptyError, std::chrono::steady_clock::now() < last, "store: queue_pop: the queue '", key, "' is empty");
      watch(range_of_prefix(queue_key(key)), f.revision + 1, last);
    }
  }
  int64_t queueLen(const std::string& key) override {
    Json question = range_of_prefix(queue_key(key));
    question["count_only"] = true;
    return range(question, end()).count;
  }

  int64_t acquireLease(const std::string& name, const std::string& owner, Timeout time) override {
    const std::string at = prefix_ + "l" + name;
    const int64_t seconds = std::max<int64_t>(1, (time.count() + 999) / 1000);
    const int64_t lease = grant(seconds);
    const Json put = Json::array({put_of(at, owner, lease), get_of(at)});
    Outcome now = transact(Json::array({is_absent(at)}), put, Json::array({get_of(at)}));
    int64_t older = 0;
    if (!now.held && !now.answers.at(0).entries.empty() && now.answers[0].entries[0].value == owner) {
      older = now.answers[0].entries[0].lease;
      now = transact(Json::array({holds(at, owner)}), put, {});
    }
    if (const int64_t ended = now.held ? older : lease) revoke(ended);
    return now.held ? now.answers.at(1).entries.at(0).created : 0;
  }
  bool releaseLease(const std::string& name, const std::string& owner) override {
    const std::string at = prefix_ + "l" + name;
    const Outcome now = transact(Json::array({holds(at, owner)}), Json::array({get_of(at), delete_of(at)}), {});
    if (now.held && now.answers.at(0).entries.at(0).lease) revoke(now.answers[0].entries[0].lease);
    return now.held;
  }

  intrusive_ptr<Store> clone() override { return intrusive_ptr<Store>::unsafe_steal_from_new(new EtcdStore(*this)); }
  std::string ownHost() override { return http_->own_host(end()); }

 private:
  static constexpr Timeout kShortest{1000};  // for a question that is not to wait

  Deadline end() const { return after(std::max(timeout_, kShortest)); }
  std::string value_key(const std::string& key) const { return prefix_ + "v" + key; }
  std::string queue_key(const std::string& key) const { return str(prefix_, "q", key.size(), ":", key, "/"); }

  Json ask(const std::string& path, const Json& question, Deadline last) const { return parsed(http_->post(path, question.dump(), last)); }
  Found range(const Json& question, Deadline last) const { return found_in(ask("/v3/kv/range", question, last)); }
  Outcome transact(const Json& compare, const Json& success, const Json& failure) const {
    Json question = {{"success", success}};
    if (!compare.is_null()) question["compare"] = compare;
    if (!failure.is_null()) question["failure"] = failure;
    const Json answer = ask("/v3/kv/txn", question, end());
    Outcome now;
    now.held = answer.value("succeeded", false);
    if (const auto list = answer.find("responses"); list != answer.end())
      for (const Json& r : *list) {
        now.answers.push_back(r.contains("response_range") ? found_in(r["response_range"]) : Found());
        if (r.contains("response_delete_range")) now.deleted += number(r["response_delete_range"], "deleted");
      }
    return now;
  }
  int64_t grant(int64_t seconds) const {
    const Json granted = ask("/v3/lease/grant", {{"TTL", std::to_string(seconds)}}, end());
    const int64_t lease = number(granted, "ID");
    CRESSET_CHECK_AS(DistNetworkError, lease, "etcd: no lease is given: ", granted.dump());
    return lease;
  }
  int64_t lease() const {
    if (seconds_ <= 0) return 0;
    const std::lock_guard<std::mutex> lock(life_->mutex);
    const auto now = std::chrono::steady_clock::now();
    if (life_->lease && now >= life_->renewal) {
      int64_t left = 0;
      http_->post("/v3/lease/keepalive", Json({{"ID", std::to_string(life_->lease)}}).dump(), end(), [&](const std::string& line) {
        const Json json = parsed(line);
        if (const auto result = json.find("result"); result != json.end()) left = number(*result, "TTL");
        return false;
      });
      if (left <= 0) life_->lease = 0;
    }
    if (!life_->lease) life_->lease = grant(seconds_);
    if (now >= life_->renewal) life_->renewal = now + std::chrono::seconds(std::max<int64_t>(seconds_ / 3, 1));
    return life_->lease;
  }
  // A lease that is not revoked ends by itself.
  void revoke(int64_t lease) const {
    try {
      ask("/v3/lease/revoke", {{"ID", std::to_string(lease)}}, end());
    } catch (const DistNetworkError&) {}
  }
  // Sets what `f` makes of the key's entry (null: there is none), unless another changed it meanwhile; then again.
  template <class F> void change(const std::string& key, F&& f) const {
    const std::string at = value_key(key);
    const Deadline last = end();
    Found now = range(range_of(at), last);
    for (int tries = 1;; tries++) {
      const Entry* held = now.entries.empty() ? nullptr : &now.entries[0];
      const Json same = Json::array({held ? is_unchanged(at, held->changed) : is_absent(at)});
      Outcome outcome = transact(same, Json::array({put_of(at, f(held), lease())}), Json::array({get_of(at)}));
      if (outcome.held) return;
      CRESSET_CHECK_AS(DistStoreError, std::chrono::steady_clock::now() < last, "store: the key '", key, "' is changed by others all the time");
      now = std::move(outcome.answers.at(0));
      if (tries > 3) std::this_thread::sleep_for(std::chrono::microseconds(rand() % (200 * std::min(tries, 50))));
    }
  }
  // Until a key of the range is set, the connection ends or the time is up.
  void watch(Json keys, int64_t from, Deadline last) const {
    keys["start_revision"] = std::to_string(from);
    keys["filters"] = Json::array({"NODELETE"});
    try {
      http_->post("/v3/watch", Json({{"create_request", std::move(keys)}}).dump(), last, [](const std::string& line) {
        const Json json = parsed(line);
        const auto result = json.find("result");
        return result != json.end() && !result->contains("events") && !result->contains("canceled");
      });
    } catch (const DistNetworkError&) {
      // The member is gone, or the revision too old: the caller looks again, at another member, and says so where none answers.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  const std::shared_ptr<etcd::Http> http_;
  const std::string prefix_;
  const int64_t seconds_;
  const std::shared_ptr<Life> life_;
};

}  // namespace

}  // namespace cresset::distributed

extern "C" CRESSET_API cresset::distributed::Store* cresset_etcd_store(const cresset::distributed::EtcdStoreOptions& options, std::string& message) {
  try {
    return new cresset::distributed::EtcdStore(options);
  } catch (const std::exception& e) { message = e.what(); }
  return nullptr;
}
