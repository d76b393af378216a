#include "cresset/dist/rpc/rpc.h"

#include <atomic>
#include <map>

#include "cresset/dispatch/values/dict.h"
#include "cresset/dispatch/values/list.h"
#include "cresset/dist/elastic/environment.h"
#include "cresset/dist/rpc/endpoint.h"
#include "cresset/dist/rpc/passes.h"

namespace cresset::distributed::rpc {

namespace {

using Time = std::chrono::milliseconds;
constexpr const char* kReference = "rpc.PyRRef";  // the name by which Python's workers know the type

std::string error_name(std::exception_ptr error, std::string& text) {
  try {
    std::rethrow_exception(std::move(error));
  } catch (const std::exception& e) {
    text = e.what();
    if (dynamic_cast<const ValueError*>(&e)) return "ValueError";
    if (dynamic_cast<const TypeError*>(&e)) return "TypeError";
    if (dynamic_cast<const IndexError*>(&e)) return "IndexError";
    if (dynamic_cast<const NotImplementedError*>(&e)) return "NotImplementedError";
  } catch (...) { text = "an exception that is no std::exception"; }
  return "RuntimeError";
}

[[noreturn]] void throw_as(const std::string& name, const std::string& text) {
  if (name == "builtins:ValueError") throw ValueError(text);
  if (name == "builtins:TypeError") throw TypeError(text);
  if (name == "builtins:IndexError") throw IndexError(text);
  if (name == "builtins:NotImplementedError") throw NotImplementedError(text);
  throw Error(text);
}

std::vector<Value> parts(const Value& v, size_t count) {
  CRESSET_CHECK_AS(WireError, v.isList() || v.isTuple(), "rpc: expected a list of ", count, " values, got ", v.kind());
  std::vector<Value> all = v.isTuple() ? v.toTupleRef().elements() : v.toListVector();
  CRESSET_CHECK_AS(WireError, all.size() == count, "rpc: expected a list of ", count, " values, got ", all.size());
  return all;
}
int64_t whole(const Value& v) {
  CRESSET_CHECK_AS(WireError, v.isInt(), "rpc: expected an integer, got ", v.kind());
  return v.to_int();
}
const std::string& text(const Value& v) {
  CRESSET_CHECK_AS(WireError, v.isString(), "rpc: expected text, got ", v.kind());
  return v.to_string();
}
ReferenceId id_of(const Value& v) {
  const std::vector<Value> both = parts(v, 2);
  return {whole(both[0]), whole(both[1])};
}
Value value_of(ReferenceId id) { return Value(std::vector<int64_t>{id.first, id.second}); }

// ["ok", message, bytes], and [kind, [pass, message, bytes]] of a request: the numbers are those of distributed autograd.
std::string answer_of(const autograd::Written& written) {
  std::string out;
  append_head(out, 'l', 3);
  out += encode(Value("ok")) + encode(Value(written.message));
  append_bytes(out, written.body);
  return out;
}
std::string request_of(const char* kind, int64_t pass, const autograd::Written& written) {
  std::string out;
  append_head(out, 'l', 2);
  out += encode(Value(kind));
  append_head(out, 'l', 3);
  out += encode(Value(pass)) + encode(Value(written.message));
  append_bytes(out, written.body);
  return out;
}

std::mutex& functions_mutex() {
  static std::mutex one;
  return one;
}
std::map<std::string, std::function<FuturePtr(const Arguments&)>>& functions() {
  static std::map<std::string, std::function<FuturePtr(const Arguments&)>> all;
  return all;
}

struct Worker : std::enable_shared_from_this<Worker> {
  std::shared_ptr<Endpoint> endpoint;
  Time timeout{};

  Agent& agent() const { return endpoint->agent(); }
  int64_t id() const { return endpoint->own_id(); }
  Time chosen(Time time) const { return time == kDefaultTime ? timeout : time; }

  // ---- Requests of this worker ----

  FuturePtr ask(int to, const std::string& request, Time time, std::function<Value(const std::string&)> read) {
    auto future = make_intrusive<Future>();
    agent().ask(to, request, time, [future, read = std::move(read)](const std::string& answer, std::exception_ptr error) {
      if (error) return future->setError(std::move(error));
      try {
        future->markCompleted(read(answer));
      } catch (...) { future->setError(std::current_exception()); }
    });
    return future;
  }
  static Value checked(const std::string& answer, int64_t pass, int64_t from) {
    const Value v = decode(answer);
    if (!v.isList()) return v;
    const std::vector<Value> all = parts(v, 3);
    if (text(all[0]) == "error") throw_as(text(all[1]), text(all[2]));
    return autograd::read(pass, whole(all[1]), text(all[2]), [from](const Value&) { return from; });
  }
  FuturePtr call(const char* kind, int to, const Value& content, Time time) {
    const int64_t pass = autograd::current();
    return ask(to, request_of(kind, pass, autograd::write(pass, to, content)), chosen(time),
               [pass, to](const std::string& answer) { return checked(answer, pass, to); });
  }
  // Requests of distributed autograd.
  FuturePtr ask_pass(int64_t to, const char* kind, const Value& content) {
    dispatch::GenericList request;
    request.push_back(Value(kind));
    request.push_back(content);
    const bool backward = std::string_view(kind) == "backward";  // it takes as long as the graph does
    return ask(static_cast<int>(to), encode(Value(request)), backward ? Time(0) : timeout, [](const std::string& answer) { return checked(answer, 0, 0); });
  }

  // ---- Requests of others ----

  void serve(uint64_t ticket, const std::string& request) {
    try {
      const std::vector<Value> both = parts(decode(request), 2);
      const std::string& kind = text(both[0]);
      const Value& content = both[1];
      if (kind == "call") serve_call(ticket, Call::of(content, 4));
      else if (kind == "remote") serve_remote(ticket, Call::of(content, 5));
      else if (kind == "fetch") serve_fetch(ticket, Call::of(content, 4));
      else if (kind == "backward") serve_pass(ticket, content, autograd::serve_backward);
      else if (kind == "release") serve_pass(ticket, content, autograd::serve_release);
      else throw WireError(str("rpc: a worker of C++ does not know requests of kind '", kind.substr(0, 40), "'"));
    } catch (...) { answer_error(ticket, std::current_exception()); }
  }
  // A request with a function, its arguments and the caller, within a pass of distributed autograd where it is not 0.
  struct Call {
    int64_t pass = 0, caller = 0;
    std::vector<Value> body;

    static Call of(const Value& content, size_t values) {
      const std::vector<Value> all = parts(content, 3);
      Call call;
      call.pass = whole(all[0]);
      const Value body = autograd::read(call.pass, whole(all[1]), text(all[2]), [&](const Value& v) {
        call.body = parts(v, values);
        return call.caller = whole(call.body[3]);
      });
      if (call.pass == 0) {
        call.body = parts(body, values);
        call.caller = whole(call.body[3]);
      }
      return call;
    }
  };
  void serve_pass(uint64_t ticket, const Value& content, void (*serve)(const Value&)) {
    serve(content);
    agent().reply(ticket, encode(Value(true)));
  }
  void answer(uint64_t ticket, const Value& value, const Call& call) { agent().reply(ticket, answer_of(autograd::write(call.pass, call.caller, value))); }
  void answer_error(uint64_t ticket, std::exception_ptr error) {
    std::string what;
    const std::string name = error_name(std::move(error), what);
    const WorkerInfo& me = agent().info();
    agent().reply(
        ticket,
        encode(Value(std::vector<std::string>{"error", "builtins:" + name, str("On WorkerInfo(id=", me.id_, ", name=", me.name_, "):\n", name, ": ", what)})));
  }
  FuturePtr begin(const Call& call) {
    const std::vector<Value>& body = call.body;
    const std::string& path = text(body[0]);
    CRESSET_CHECK_AS(WireError, body[1].isTuple() || body[1].isList(), "rpc: expected arguments, got ", body[1].kind());
    CRESSET_CHECK_TYPE(body[2].isGenericDict() && body[2].toGenericDict().empty(), "rpc: functions of C++ take no arguments by name");
    std::function<FuturePtr(const Arguments&)> function;
    {
      const std::lock_guard<std::mutex> lock(functions_mutex());
      const auto at = functions().find(path.substr(path.empty() || path[0] != '@' ? 0 : 1));
      CRESSET_CHECK_VALUE(!path.empty() && path[0] == '@' && at != functions().end(), "rpc: no function is registered as '", path.substr(0, 100), "'");
      function = at->second;
    }
    const autograd::Entered entered(call.pass);
    FuturePtr future = function(body[1].isTuple() ? body[1].toTupleRef().elements() : body[1].toListVector());
    CRESSET_CHECK(future, "rpc: '", path, "' gave no future");
    return future;
  }
  void serve_call(uint64_t ticket, const Call& call) { answer_later(ticket, begin(call), call); }
  void answer_later(uint64_t ticket, const FuturePtr& future, Call call) {
    call.body.clear();
    future->addCallback([self = shared_from_this(), ticket, call](Future& done) {
      try {
        self->answer(ticket, done.wait(), call);
      } catch (...) { self->answer_error(ticket, std::current_exception()); }
    });
  }
  void serve_remote(uint64_t ticket, const Call& call) {
    const auto future = make_intrusive<Future>();
    keep(id_of(call.body[4]), future, call.caller);
    agent().reply(ticket, answer_of({0, encode(Value(true))}));
    try {
      begin(call)->addCallback([future](Future& done) {
        try {
          future->markCompleted(done.wait());
        } catch (...) { future->setError(std::current_exception()); }
      });
    } catch (...) { future->setError(std::current_exception()); }
  }
  void keep(ReferenceId id, const FuturePtr& future, int64_t holder) { endpoint->references().keep(id, std::make_shared<FuturePtr>(future), holder); }
  FuturePtr kept(ReferenceId id) const { return *std::static_pointer_cast<FuturePtr>(endpoint->references().value(id)); }
  void serve_fetch(uint64_t ticket, const Call& call) { answer_later(ticket, kept(id_of(parts(call.body[1], 1)[0])), call); }
};
using WorkerPtr = std::shared_ptr<Worker>;

std::mutex& current_mutex() {
  static std::mutex one;
  return one;
}
WorkerPtr& current() {
  static WorkerPtr one;
  return one;
}
WorkerPtr maybe_here() {
  const std::lock_guard<std::mutex> lock(current_mutex());
  return current();
}
WorkerPtr here() {
  WorkerPtr worker = maybe_here();
  CRESSET_CHECK(worker, "rpc: this process is no worker; call init_rpc first");
  return worker;
}

std::string path_of(const std::string& function) { return function.find(':') == std::string::npos ? "@" + function : function; }
Value call_content(const std::string& function, Arguments args, int64_t caller) {
  dispatch::GenericList all;
  all.push_back(Value(path_of(function)));
  all.push_back(Value(dispatch::TupleObject::create(std::move(args))));
  all.push_back(Value(dispatch::GenericDict()));
  all.push_back(Value(caller));
  return Value(all);
}

}  // namespace

// ---- Futures ----

Value Future::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return done_; });
  if (error_) std::rethrow_exception(error_);
  return value_;
}
bool Future::completed() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return done_;
}
bool Future::hasError() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return error_ != nullptr;
}
void Future::markCompleted(Value value) { finish(std::move(value), nullptr); }
void Future::setError(std::exception_ptr error) { finish({}, std::move(error)); }
void Future::finish(Value value, std::exception_ptr error) {
  std::vector<std::function<void(Future&)>> callbacks;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    CRESSET_CHECK(!done_, "rpc: the future is complete already");
    value_ = std::move(value);
    error_ = std::move(error);
    done_ = true;
    callbacks.swap(callbacks_);
    changed_.notify_all();
  }
  for (const auto& f : callbacks) f(*this);
}
void Future::addCallback(std::function<void(Future&)> f) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!done_) return callbacks_.push_back(std::move(f));
  }
  f(*this);
}

// ---- References ----

namespace {

struct Remote final : Travelling {
  Remote(std::weak_ptr<Worker> w, int o, ReferenceId i, FuturePtr c) : worker(std::move(w)), owner(o), id(i), created(std::move(c)) {}
  ~Remote() override {
    const WorkerPtr w = worker.lock();
    if (!w || w != maybe_here()) return;
    w->endpoint->release(owner, id);
  }
  const std::weak_ptr<Worker> worker;
  const int owner;
  const ReferenceId id;
  const FuturePtr created;  // of `remote`: the owner has it

  WorkerPtr alive() const {
    WorkerPtr w = worker.lock();
    CRESSET_CHECK(w && w == maybe_here(), "RRef: the worker that held it has shut down");
    return w;
  }
  const char* kind_name() const override { return "RRef"; }
  std::string type() const override { return kReference; }
  // The reference that travels counts as this worker's until it has come.
  Value fields() const override {
    const WorkerPtr w = alive();
    if (created) created->wait();
    w->endpoint->share(owner, id, w->timeout);
    dispatch::GenericList all;
    all.push_back(Value(owner));
    all.push_back(value_of(id));
    all.push_back(Value(w->id()));
    return Value(all);
  }
  static Value come(const Value& fields) {
    const std::vector<Value> all = parts(fields, 3);
    const WorkerPtr w = here();
    const int owner = w->agent().worker(whole(all[0])).id_;
    const ReferenceId id = id_of(all[1]);
    const int64_t from = whole(all[2]);
    w->endpoint->adopt(owner, id, from);
    return Value(intrusive_ptr<dispatch::Object>(make_intrusive<Remote>(w, owner, id, nullptr)));
  }
};

const Remote& remote_of(const intrusive_ptr<dispatch::Object>& object) { return static_cast<const Remote&>(*object); }

}  // namespace

RRef::RRef(Value value) {
  const WorkerPtr w = here();
  const ReferenceId id = w->endpoint->new_id();
  const auto future = make_intrusive<Future>();
  future->markCompleted(std::move(value));
  w->keep(id, future, w->id());
  object_ = make_intrusive<Remote>(w, static_cast<int>(w->id()), id, nullptr);
}
RRef RRef::of(const Value& value) {
  CRESSET_CHECK_TYPE(value.object() && dynamic_cast<Remote*>(value.object()->get()), "RRef: expected a reference, got ", value.kind());
  RRef reference;
  reference.object_ = *value.object();
  return reference;
}
WorkerInfo RRef::owner() const { return remote_of(object_).alive()->agent().worker(static_cast<int64_t>(remote_of(object_).owner)); }
bool RRef::is_owner() const { return remote_of(object_).owner == remote_of(object_).alive()->id(); }
bool RRef::confirmed_by_owner() const { return !remote_of(object_).created || remote_of(object_).created->completed(); }
Value RRef::local_value() const {
  CRESSET_CHECK(is_owner(), "RRef: local_value: the value is on ", owner().name_, "; to_here() copies it");
  return remote_of(object_).alive()->kept(remote_of(object_).id)->wait();
}
Value RRef::to_here(Time timeout) const {
  const WorkerPtr w = remote_of(object_).alive();
  if (remote_of(object_).created) remote_of(object_).created->wait();
  if (is_owner()) return local_value();
  dispatch::GenericList content;
  content.push_back({});
  content.push_back(Value(dispatch::TupleObject::create(std::vector<Value>{value_of(remote_of(object_).id)})));
  content.push_back(Value(dispatch::GenericDict()));
  content.push_back(Value(w->id()));
  return w->call("fetch", remote_of(object_).owner, Value(content), timeout)->wait();
}
RRef remote(const std::string& to, const std::string& function, Arguments args, Time timeout) {
  const WorkerPtr w = here();
  const int owner = w->agent().worker(to).id_;
  const ReferenceId id = w->endpoint->new_id();
  const Value content = call_content(function, std::move(args), w->id());
  content.toList().push_back(value_of(id));
  RRef reference;
  reference.object_ = make_intrusive<Remote>(w, owner, id, w->call("remote", owner, content, timeout));
  return reference;
}

// ---- Calls, and the life of a worker ----

void register_boxed(const std::string& name, std::function<FuturePtr(const Arguments&)> function) {
  CRESSET_CHECK_VALUE(!name.empty() && name.find(':') == std::string::npos, "rpc: expected a name without a colon for a function, got '", name, "'");
  const std::lock_guard<std::mutex> lock(functions_mutex());
  functions()[name] = std::move(function);
}

FuturePtr rpc_async(const std::string& to, const std::string& function, Arguments args, Time timeout) {
  const WorkerPtr w = here();
  return w->call("call", w->agent().worker(to).id_, call_content(function, std::move(args), w->id()), timeout);
}
Value rpc_sync(const std::string& to, const std::string& function, Arguments args, Time timeout) {
  return rpc_async(to, function, std::move(args), timeout)->wait();
}

void init_rpc(const std::string& name, const RpcOptions& options) {
  CRESSET_CHECK(!maybe_here(), "init_rpc: this process is a worker already");
  CRESSET_CHECK_VALUE(!name.empty() && name.find(' ') == std::string::npos, "init_rpc: expected a name without spaces, got '", name, "'");
  RpcOptions o = options;
  if (!o.store) {
    const Environment e = Environment::read();
    o.store = job_store(e);
    o.rank = e.rank;
    o.world_size = e.world_size;
  }
  register_type(kReference, Remote::come);
  register_type("rpc.RRef", Remote::come);
  auto worker = std::make_shared<Worker>();
  worker->timeout = o.rpc_timeout;
  const std::weak_ptr<Worker> weak = worker;
  worker->endpoint =
      Endpoint::open(make_intrusive<PrefixStore>("rpc_prefix_0", o.store), name, o.rank, o.world_size, [weak](uint64_t ticket, const std::string& request) {
        if (const WorkerPtr w = weak.lock()) w->serve(ticket, request);
      });
  {
    const std::lock_guard<std::mutex> lock(current_mutex());
    current() = worker;
  }
  autograd::begin(worker->id(), [weak](int64_t to, const char* kind, const Value& content) {
    const WorkerPtr w = weak.lock();
    CRESSET_CHECK(w, "rpc: the worker has shut down");
    return w->ask_pass(to, kind, content);
  });
  worker->agent().meet("ready", Time(0));
}

void shutdown(bool graceful, Time timeout) {
  const WorkerPtr worker = here();
  std::exception_ptr error;
  try {
    // Twice, since a call that was served may have made calls of its own.
    for (const char* point : {"end first", "end second"}) {
      if (!graceful) break;
      worker->agent().wait_idle(timeout);
      worker->agent().meet(point, timeout);
    }
  } catch (...) { error = std::current_exception(); }
  {
    const std::lock_guard<std::mutex> lock(current_mutex());
    current() = nullptr;
  }
  autograd::end();
  worker->agent().close();
  if (error) std::rethrow_exception(error);
}

WorkerInfo get_worker_info() { return here()->agent().info(); }
WorkerInfo get_worker_info(const std::string& name) { return here()->agent().worker(name); }

}  // namespace cresset::distributed::rpc
