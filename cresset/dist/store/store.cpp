#include "cresset/dist/store/store.h"

#include <condition_variable>
#include <memory>
#include <mutex>

#include "cresset/dist/store/table.h"

namespace cresset::distributed {

namespace {

[[noreturn]] void refuse(const char* method) {
  throw NotImplementedError(str("store: ", method, ": this kind of store lacks it; a TCPStore or a HashStore has it"));
}

}  // namespace

void Store::append(const std::string&, const Bytes&) { refuse("append"); }
std::vector<Bytes> Store::multiGet(const std::vector<std::string>&) { refuse("multi_get"); }
void Store::multiSet(const std::vector<std::string>&, const std::vector<Bytes>&) { refuse("multi_set"); }
void Store::queuePush(const std::string&, const Bytes&) { refuse("queue_push"); }
Bytes Store::queuePop(const std::string&, bool) { refuse("queue_pop"); }
int64_t Store::queueLen(const std::string&) { refuse("queue_len"); }
std::vector<std::string> Store::listKeys() { refuse("list_keys"); }
int64_t Store::acquireLease(const std::string&, const std::string&, Timeout) { refuse("acquire_lease"); }
bool Store::releaseLease(const std::string&, const std::string&) { refuse("release_lease"); }

struct HashStore::State {
  std::mutex mutex;
  std::condition_variable changed;
  Table table;

  template <class F> auto change(F&& f) -> decltype(f()) {
    const std::lock_guard<std::mutex> lock(mutex);
    changed.notify_all();
    return f();
  }
};

HashStore::HashStore(Timeout timeout) : HashStore(std::make_shared<State>(), timeout) {}
HashStore::HashStore(std::shared_ptr<State> state, Timeout timeout) : Store(timeout), state_(std::move(state)) {}
HashStore::~HashStore() = default;

void HashStore::set(const std::string& key, const Bytes& value) {
  state_->change([&] { state_->table.values[key] = to_text(value); });
}
Bytes HashStore::get(const std::string& key) { return std::move(multiGet({key})[0]); }
int64_t HashStore::add(const std::string& key, int64_t amount) {
  return state_->change([&] { return state_->table.add(key, amount); });
}
Bytes HashStore::compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) {
  return state_->change([&] { return to_bytes(state_->table.compare_set(key, to_text(expected), to_text(desired))); });
}
bool HashStore::check(const std::vector<std::string>& keys) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->table.has(keys);
}
bool HashStore::deleteKey(const std::string& key) {
  return state_->change([&] { return state_->table.erase(key); });
}
int64_t HashStore::getNumKeys() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->table.size();
}
void HashStore::wait(const std::vector<std::string>& keys, const Timeout& timeout) {
  std::unique_lock<std::mutex> lock(state_->mutex);
  if (!state_->changed.wait_until(lock, after(timeout), [&] { return state_->table.has(keys); })) throw_missing(keys, state_->table, timeout.count());
}
void HashStore::append(const std::string& key, const Bytes& value) {
  state_->change([&] { state_->table.values[key] += to_text(value); });
}
std::vector<Bytes> HashStore::multiGet(const std::vector<std::string>& keys) {
  std::unique_lock<std::mutex> lock(state_->mutex);
  if (!state_->changed.wait_until(lock, after(timeout_), [&] { return state_->table.has(keys); })) throw_missing(keys, state_->table, timeout_.count());
  std::vector<Bytes> all;
  for (const std::string& key : keys) all.push_back(to_bytes(state_->table.values[key]));
  return all;
}
void HashStore::multiSet(const std::vector<std::string>& keys, const std::vector<Bytes>& values) {
  CRESSET_CHECK_VALUE(keys.size() == values.size(), "store: multi_set: expected as many values as keys, got ", keys.size(), " keys and ", values.size(),
                      " values");
  state_->change([&] {
    for (size_t i = 0; i < keys.size(); i++) state_->table.values[keys[i]] = to_text(values[i]);
  });
}
void HashStore::queuePush(const std::string& key, const Bytes& value) {
  state_->change([&] { state_->table.queues[key].push_back(to_text(value)); });
}
Bytes HashStore::queuePop(const std::string& key, bool block) {
  std::unique_lock<std::mutex> lock(state_->mutex);
  std::string value;
  const bool there = state_->changed.wait_until(lock, after(block ? timeout_ : kNoTimeout), [&] { return state_->table.pop(key, value); });
  if (!there) throw DistQueueEmptyError(str("store: queue_pop: the queue '", key, "' is empty"));
  return to_bytes(value);
}
int64_t HashStore::queueLen(const std::string& key) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->table.length(key);
}
std::vector<std::string> HashStore::listKeys() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->table.keys();
}
int64_t HashStore::acquireLease(const std::string& name, const std::string& owner, Timeout time) {
  return state_->change([&] { return state_->table.acquire(name, owner, time); });
}
bool HashStore::releaseLease(const std::string& name, const std::string& owner) {
  return state_->change([&] { return state_->table.release(name, owner); });
}
intrusive_ptr<Store> HashStore::clone() { return intrusive_ptr<Store>::unsafe_steal_from_new(new HashStore(state_, timeout_)); }

PrefixStore::PrefixStore(std::string prefix, intrusive_ptr<Store> store)
    : Store(store ? store->getTimeout() : kDefaultTimeout), prefix_(std::move(prefix) + "/"), store_(std::move(store)) {
  CRESSET_CHECK(store_, "PrefixStore: expected a store, got none");
}
std::vector<std::string> PrefixStore::prefixed(std::vector<std::string> keys) const {
  for (std::string& key : keys) key.insert(0, prefix_);
  return keys;
}
std::vector<std::string> PrefixStore::listKeys() {
  std::vector<std::string> own;
  for (std::string& key : store_->listKeys())
    if (key.compare(0, prefix_.size(), prefix_) == 0) own.push_back(key.substr(prefix_.size()));
  return own;
}
intrusive_ptr<Store> PrefixStore::clone() { return make_intrusive<PrefixStore>(prefix_.substr(0, prefix_.size() - 1), store_->clone()); }
void PrefixStore::setTimeout(const Timeout& timeout) {
  Store::setTimeout(timeout);
  store_->setTimeout(timeout);
}

}  // namespace cresset::distributed
