#pragma once
// Calls between workers, in C++ and Python alike: functions by the name under which the other worker has registered them, and references to values that stay
// where they were made.
//
//   rpc::register_function("add", [](const Tensor& a, const Tensor& b) { return a + b; });
//   rpc::init_rpc("worker0");
//   Tensor sum = rpc::rpc_sync("worker1", "add", {x, y}).toTensor();
//   rpc::shutdown();

#include <condition_variable>
#include <functional>
#include <mutex>
#include <type_traits>

#include "cresset/dispatch/values/stack.h"
#include "cresset/dist/rpc/agent.h"
#include "cresset/dist/rpc/wire.h"

namespace cresset::distributed::rpc {

using Arguments = std::vector<Value>;
constexpr std::chrono::milliseconds kDefaultTime{-1};  // that of the worker's options

// A value that comes later, or an error.
class CRESSET_API Future : public RefCounted {
 public:
  // Errors: that of the future.
  Value wait();
  bool completed() const;
  bool hasError() const;
  void markCompleted(Value value);
  void setError(std::exception_ptr error);
  // Runs `f` when the future is complete, now if it is.
  void addCallback(std::function<void(Future&)> f);

 private:
  void finish(Value value, std::exception_ptr error);
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  Value value_;
  std::exception_ptr error_;
  std::vector<std::function<void(Future&)>> callbacks_;
};
using FuturePtr = intrusive_ptr<Future>;

struct CRESSET_API RpcOptions {
  // Without a store: the job's, and the place of this process in it, from the environment that the launcher made.
  intrusive_ptr<Store> store;
  int rank = -1, world_size = -1;
  std::chrono::milliseconds rpc_timeout = std::chrono::seconds(60);  // of calls that give none; 0: as long as they take
};

// Makes this process the worker of a name; all call this. Errors: Error where it is one already, ValueError for no name or place.
CRESSET_API void init_rpc(const std::string& name, const RpcOptions& options = {});
// Ends the worker: with `graceful`, when all workers have come here and no call is open anywhere.
CRESSET_API void shutdown(bool graceful = true, std::chrono::milliseconds timeout = std::chrono::milliseconds(0));
CRESSET_API WorkerInfo get_worker_info();
CRESSET_API WorkerInfo get_worker_info(const std::string& name);

// Lets other workers call a function. A later one takes an earlier one's place.
CRESSET_API void register_boxed(const std::string& name, std::function<FuturePtr(const Arguments&)> function);

// The value of a function in a worker. A name with a colon, "module:function", is one of a Python worker. Errors: those of the function, with the worker's
// name, as ValueError, TypeError, IndexError, NotImplementedError or Error; DistError for a worker that is late or gone.
CRESSET_API FuturePtr rpc_async(const std::string& to, const std::string& function, Arguments args = {}, std::chrono::milliseconds timeout = kDefaultTime);
CRESSET_API Value rpc_sync(const std::string& to, const std::string& function, Arguments args = {}, std::chrono::milliseconds timeout = kDefaultTime);

// A reference to a value in the worker that owns it, which keeps the value as long as a reference exists, in a worker that is still there. References travel as
// arguments and results.
class CRESSET_API RRef {
 public:
  // To a value of this worker.
  explicit RRef(Value value);
  // One that has come. Errors: TypeError where the value is none.
  static RRef of(const Value& value);
  WorkerInfo owner() const;
  bool is_owner() const;
  // Whether the owner is known to have it.
  bool confirmed_by_owner() const;
  // Errors: Error where another worker owns it.
  Value local_value() const;
  // The value or a copy of it. Errors: those of the call that made it.
  Value to_here(std::chrono::milliseconds timeout = kDefaultTime) const;
  operator Value() const { return Value(object_); }

 private:
  friend CRESSET_API RRef remote(const std::string&, const std::string&, Arguments, std::chrono::milliseconds);
  RRef() = default;
  intrusive_ptr<dispatch::Object> object_;
};

CRESSET_API RRef remote(const std::string& to, const std::string& function, Arguments args = {}, std::chrono::milliseconds timeout = kDefaultTime);

namespace detail {

template <class T> struct Callable : Callable<decltype(&T::operator())> {};
template <class R, class... A> struct Callable<R (*)(A...)> {
  template <class F, size_t... I> static FuturePtr run(F& f, const Arguments& args, std::index_sequence<I...>) {
    auto future = make_intrusive<Future>();
    if constexpr (std::is_void_v<R>) {
      f(args[I].template to<std::decay_t<A>>()...);
      future->markCompleted({});
    } else if constexpr (std::is_same_v<R, FuturePtr>) {
      return f(args[I].template to<std::decay_t<A>>()...);
    } else {
      future->markCompleted(Value(f(args[I].template to<std::decay_t<A>>()...)));
    }
    return future;
  }
  template <class F> static FuturePtr call(F& f, const Arguments& args) {
    CRESSET_CHECK_TYPE(args.size() == sizeof...(A), "rpc: expected ", sizeof...(A), " arguments, got ", args.size());
    return run(f, args, std::index_sequence_for<A...>());
  }
};
template <class R, class C, class... A> struct Callable<R (C::*)(A...) const> : Callable<R (*)(A...)> {};
template <class R, class C, class... A> struct Callable<R (C::*)(A...)> : Callable<R (*)(A...)> {};

}  // namespace detail

// A function or lambda of tensors, numbers, text, and vectors and dicts of them; one that gives a FuturePtr is answered when that is complete.
template <class F> void register_function(const std::string& name, F function) {
  register_boxed(name, [function](const Arguments& args) mutable { return detail::Callable<F>::call(function, args); });
}

}  // namespace cresset::distributed::rpc
