#include "cresset/dist/rpc/endpoint.h"

#include <future>

#include "cresset/dispatch/values/list.h"
#include "cresset/dist/rpc/wire.h"

namespace cresset::distributed::rpc {

namespace {

constexpr Agent::Time kTellTime = std::chrono::seconds(5);

std::string about(const char* kind, ReferenceId id, std::vector<int64_t> workers) {
  dispatch::GenericList content, request;
  content.push_back(Value(std::vector<int64_t>{id.first, id.second}));
  content.push_back(Value(std::move(workers)));
  request.push_back(Value(kind));
  request.push_back(Value(content));
  return encode(Value(request));
}

// Whether bytes are a list of two that begins with this text.
bool begins_with(const std::string& request, std::string_view kind) {
  std::string head;
  append_head(head, 'l', 2);
  append_head(head, 's', kind.size());
  head += kind;
  return request.compare(0, head.size(), head) == 0;
}

struct About {
  ReferenceId id;
  std::vector<int64_t> workers;
};
About parse(const std::string& request, size_t workers) {
  const Value whole = decode(request);
  auto ints = [](const Value& v, size_t count) {
    CRESSET_CHECK_AS(WireError, v.isList() && v.toListVector().size() == count, "rpc: not a message about a reference");
    std::vector<int64_t> all;
    for (const Value& n : v.toListVector()) {
      CRESSET_CHECK_AS(WireError, n.isInt(), "rpc: not a message about a reference");
      all.push_back(n.to_int());
    }
    return all;
  };
  const Value content = whole.toListVector().at(1);
  CRESSET_CHECK_AS(WireError, content.isList() && content.toListVector().size() == 2, "rpc: not a message about a reference");
  const std::vector<int64_t> id = ints(content.toListVector()[0], 2);
  return {{id[0], id[1]}, ints(content.toListVector()[1], workers)};
}

}  // namespace

std::shared_ptr<Endpoint> Endpoint::open(intrusive_ptr<Store> store, const std::string& name, int rank, int size, Agent::Serve serve) {
  auto made = std::make_shared<Endpoint>();
  // Requests come only after all workers have met, when the agent is there.
  const std::weak_ptr<Endpoint> weak = made;
  made->agent_ = make_intrusive<Agent>(
      std::move(store), name, rank, size,
      [weak, serve = std::move(serve)](uint64_t ticket, std::string request) {
        const std::shared_ptr<Endpoint> e = weak.lock();
        if (e && !e->serve_reference(ticket, request)) serve(ticket, std::move(request));
      },
      [weak](int gone) {
        if (const std::shared_ptr<Endpoint> e = weak.lock()) e->references_.forget(gone);
      });
  return made;
}

bool Endpoint::serve_reference(uint64_t ticket, const std::string& request) {
  auto answered = [&](auto&& change) {
    try {
      change();
      agent_->reply(ticket, encode(Value(true)));
    } catch (const Error& error) { agent_->reply(ticket, encode(Value(std::vector<std::string>{"error", "builtins:RuntimeError", error.what()}))); }
    return true;
  };
  if (begins_with(request, "fork"))
    return answered([&] {
      const About a = parse(request, 1);
      references_.add(a.id, a.workers[0]);
    });
  if (begins_with(request, "adopt"))
    return answered([&] {
      const About a = parse(request, 2);
      references_.move(a.id, a.workers[0], a.workers[1]);
    });
  if (begins_with(request, "drop"))
    return answered([&] {
      const About a = parse(request, 1);
      references_.drop(a.id, a.workers[0]);
    });
  return false;
}

void Endpoint::share(int owner, ReferenceId id, Agent::Time timeout) {
  if (owner == own_id()) return references_.add(id, owner);
  auto answer = std::make_shared<std::promise<std::string>>();
  std::future<std::string> come = answer->get_future();
  agent_->ask(owner, about("fork", id, {own_id()}), timeout, [answer](std::string bytes, std::exception_ptr error) {
    if (error) answer->set_exception(std::move(error));
    else answer->set_value(std::move(bytes));
  });
  const Value v = decode(come.get());
  CRESSET_CHECK_AS(DistError, v.isBool(), v.isList() && v.toListVector().size() == 3 ? v.toListVector()[2].to_string() : "RRef: not an answer");
}

void Endpoint::adopt(int owner, ReferenceId id, int64_t from) {
  if (owner == own_id()) return references_.move(id, from, owner);
  tell(owner, about("adopt", id, {from, own_id()}));
}

void Endpoint::release(int owner, ReferenceId id) {
  if (owner == own_id()) return references_.drop(id, owner);
  tell(owner, about("drop", id, {own_id()}));
}

void Endpoint::tell(int owner, const std::string& request) {
  try {
    agent_->ask(owner, request, kTellTime, [](const std::string&, const std::exception_ptr&) {});
  } catch (const Error&) {}  // a worker that is gone has no values either
}

}  // namespace cresset::distributed::rpc
