#include "cresset/dist/elastic/heart.h"

#include <algorithm>

namespace cresset::distributed {

intrusive_ptr<Store> brief(const intrusive_ptr<Store>& store) {
  constexpr std::chrono::milliseconds kAnswer(500);
  intrusive_ptr<Store> made = store->clone();
  made->setTimeout(std::min(kAnswer, made->getTimeout()));
  return made;
}

Heart::Heart(const intrusive_ptr<Store>& store, std::string key, std::chrono::milliseconds beat) : store_(brief(store)), key_(std::move(key)) {
  thread_ = std::thread([this, beat] {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stop_) {
      lock.unlock();
      try {
        store_->add(key_, 1);
      } catch (const Error&) {}  // the store is lost, or late: the next beat may reach it
      lock.lock();
      stopped_.wait_for(lock, beat, [this] { return stop_; });
    }
  });
}
Heart::~Heart() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

}  // namespace cresset::distributed
