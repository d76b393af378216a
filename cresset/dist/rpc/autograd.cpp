#include "cresset/dist/rpc/autograd.h"

#include <atomic>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "cresset/autograd/accumulate_grad.h"
#include "cresset/autograd/autograd.h"
#include "cresset/autograd/variable.h"
#include "cresset/dispatch/values/dict.h"
#include "cresset/dispatch/values/list.h"
#include "cresset/dist/rpc/passes.h"
#include "cresset/ops/functions.h"

namespace cresset::distributed::autograd {

namespace {

constexpr int kShift = 48;  // the numbers of a worker's passes stand below its own

struct Pass {
  explicit Pass(int64_t n) : number(n) {}
  struct Got {
    Tensor tensor;
    int64_t worker, message, index;
  };
  const int64_t number;
  std::mutex mutex;
  std::map<int64_t, std::vector<Tensor>> sent;  // by message
  std::unordered_map<const void*, Got> got;     // by the tensor's identity, as `gradients`
  std::unordered_map<const void*, std::pair<Tensor, Tensor>> gradients;
  std::set<int64_t> workers;
};
using PassPtr = std::shared_ptr<Pass>;

struct Passes {
  std::mutex mutex;
  std::atomic<int64_t> own_id{0};
  Ask ask;
  std::map<int64_t, PassPtr> open;
  std::atomic<int64_t> next{1};
};
Passes& passes() {
  static Passes all;
  return all;
}
thread_local int64_t here = 0;

PassPtr joined(int64_t number) {
  Passes& all = passes();
  const std::lock_guard<std::mutex> lock(all.mutex);
  PassPtr& pass = all.open[number];
  if (!pass) pass = std::make_shared<Pass>(number);
  return pass;
}
PassPtr known(int64_t number) {
  Passes& all = passes();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto at = all.open.find(number);
  CRESSET_CHECK(at != all.open.end(), "distributed.autograd: there is no context ", number, "; it has ended, or was never begun");
  return at->second;
}
Ask asking() {
  Passes& all = passes();
  const std::lock_guard<std::mutex> lock(all.mutex);
  CRESSET_CHECK(all.ask, "distributed.autograd: this process is no worker; call init_rpc first");
  return all.ask;
}

void release(int64_t number) {
  Passes& all = passes();
  PassPtr pass;
  Ask ask;
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    const auto at = all.open.find(number);
    if (at == all.open.end()) return;
    pass = std::move(at->second);
    all.open.erase(at);
    ask = all.ask;
  }
  std::set<int64_t> workers;
  {
    // A message of the pass may still be on its way in.
    const std::lock_guard<std::mutex> lock(pass->mutex);
    workers = pass->workers;
  }
  for (const int64_t worker : workers) {
    try {
      if (ask) ask(worker, "release", Value(number));
    } catch (const Error&) {}  // it has ended, and its part with it
  }
}

// A root that is a leaf itself has the only reference to its node.
std::vector<Tensor> leaves_of(const std::vector<Tensor>& roots) {
  std::unordered_set<cresset::autograd::Node*> seen;
  std::vector<cresset::autograd::Node*> open;
  std::vector<Tensor> found;
  auto visit = [&](cresset::autograd::Node* node) {
    if (node && seen.insert(node).second) open.push_back(node);
  };
  cresset::autograd::edge_list edges;
  for (const Tensor& root : roots) edges.push_back(cresset::autograd::impl::gradient_edge(root));
  for (const auto& edge : edges) visit(edge.function.get());
  while (!open.empty()) {
    cresset::autograd::Node* const node = open.back();
    open.pop_back();
    if (const auto* leaf = dynamic_cast<const cresset::autograd::AccumulateGrad*>(node)) found.push_back(leaf->variable());
    for (const auto& edge : node->next_edges()) visit(edge.function.get());
  }
  return found;
}

Value content_of(int64_t pass, int64_t message, const std::map<int64_t, Tensor>& gradients) {
  dispatch::GenericDict parts;
  for (const auto& [index, gradient] : gradients) parts.insert_or_assign(Value(index), Value(gradient));
  dispatch::GenericList content;
  content.push_back(Value(pass));
  content.push_back(Value(message));
  content.push_back(Value(parts));
  return Value(content);
}

// Runs backward here; gradients of tensors that others have sent go back to them.
void through(Pass& pass, const std::vector<Tensor>& roots, const std::vector<Tensor>& weights) {
  const std::vector<Tensor> leaves = leaves_of(roots);
  const auto gradients = cresset::autograd::grad(roots, leaves, weights, true, false, true);
  std::map<std::pair<int64_t, int64_t>, std::map<int64_t, Tensor>> back;
  {
    const std::lock_guard<std::mutex> lock(pass.mutex);
    for (size_t i = 0; i < leaves.size(); i++) {
      if (!gradients[i].defined()) continue;
      const auto got = pass.got.find(leaves[i].impl());
      if (got != pass.got.end()) {
        back[{got->second.worker, got->second.message}][got->second.index] = gradients[i];
        continue;
      }
      auto& [leaf, sum] = pass.gradients[leaves[i].impl()];
      leaf = leaves[i];
      sum = sum.defined() ? sum + gradients[i] : gradients[i];
    }
  }
  std::vector<FuturePtr> waits;
  for (const auto& [sender, parts] : back) waits.push_back(asking()(sender.first, "backward", content_of(pass.number, sender.second, parts)));
  for (const FuturePtr& wait : waits) wait->wait();
}

}  // namespace

// ---- what a worker's calls note ----

void begin(int64_t own_id, Ask ask) {
  Passes& all = passes();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.own_id = own_id;
  all.ask = std::move(ask);
  all.open.clear();
}
void end() { begin(0, nullptr); }
int64_t current() { return here; }
Entered::Entered(int64_t pass) : before_(std::exchange(here, pass)) {}
Entered::~Entered() { here = before_; }

Written write(int64_t number, int64_t to, const Value& value) {
  if (number == 0) return {0, rpc::encode(value)};
  const PassPtr pass = joined(number);
  std::vector<Tensor> tensors;
  Written written;
  written.body = rpc::encode(value, [&](const Tensor& t) {
    tensors.push_back(t);
    return tensors.size() - 1;
  });
  const std::lock_guard<std::mutex> lock(pass->mutex);
  if (!tensors.empty()) pass->sent[written.message = passes().next++] = std::move(tensors);
  pass->workers.insert(to);
  return written;
}

Value read(int64_t number, int64_t message, std::string_view body, const std::function<int64_t(const Value&)>& from) {
  if (number == 0) return rpc::decode(body);
  const PassPtr pass = joined(number);
  std::vector<std::pair<int64_t, Tensor>> tensors;
  const Value value = rpc::decode(body, [&](uint64_t index, const Tensor& t) { tensors.emplace_back(static_cast<int64_t>(index), t); });
  const int64_t worker = from(value);
  const std::lock_guard<std::mutex> lock(pass->mutex);
  for (const auto& [index, t] : tensors) pass->got[t.impl()] = {t, worker, message, index};
  pass->workers.insert(worker);
  return value;
}

void serve_backward(const Value& content) {
  const auto all = content.isList() ? content.toListVector() : std::vector<Value>();
  CRESSET_CHECK_AS(rpc::WireError, all.size() == 3 && all[0].isInt() && all[1].isInt() && all[2].isGenericDict(),
                   "distributed.autograd: not the gradients of a message");
  const PassPtr pass = known(all[0].to_int());
  std::vector<Tensor> roots, weights;
  {
    const std::lock_guard<std::mutex> lock(pass->mutex);
    const auto sent = pass->sent.find(all[1].to_int());
    CRESSET_CHECK_AS(rpc::WireError, sent != pass->sent.end(), "distributed.autograd: no message ", all[1].to_int(), " was sent in context ", pass->number);
    for (const auto& part : all[2].toGenericDict()) {
      const bool fits =
          part.key().isInt() && part.value().isTensor() && part.key().to_int() >= 0 && static_cast<size_t>(part.key().to_int()) < sent->second.size();
      CRESSET_CHECK_AS(rpc::WireError, fits, "distributed.autograd: expected gradients of ", sent->second.size(), " tensors");
      roots.push_back(sent->second[static_cast<size_t>(part.key().to_int())]);
      weights.push_back(part.value().to_tensor());
    }
  }
  if (!roots.empty()) through(*pass, roots, weights);
}
void serve_release(const Value& content) {
  CRESSET_CHECK_AS(rpc::WireError, content.isInt(), "distributed.autograd: expected the number of a context, got ", content.kind());
  release(content.to_int());
}

// ---- the interface ----

Context::Context() : id_(0) {
  asking();
  CRESSET_CHECK(here == 0, "distributed.autograd: this thread is in a context already");
  id_ = (passes().own_id << kShift) + passes().next++;
  joined(id_);
  here = id_;
}
Context::~Context() {
  here = 0;
  release(id_);
}

void backward(int64_t context_id, const std::vector<Tensor>& roots, bool) {
  const PassPtr pass = known(context_id);
  CRESSET_CHECK(!roots.empty(), "distributed.autograd: backward: expected roots, got none");
  std::vector<Tensor> weights;
  for (const Tensor& root : roots) {
    CRESSET_CHECK(root.requires_grad(), "distributed.autograd: backward: expected roots that need gradients");
    CRESSET_CHECK(root.numel() == 1, "distributed.autograd: backward: expected scalars as roots, got shape ", root.sizes());
    weights.push_back(ones_like(root));
  }
  through(*pass, roots, weights);
}

std::vector<std::pair<Tensor, Tensor>> get_gradients(int64_t context_id) {
  const PassPtr pass = known(context_id);
  const std::lock_guard<std::mutex> lock(pass->mutex);
  std::vector<std::pair<Tensor, Tensor>> all;
  for (const auto& [identity, both] : pass->gradients) all.push_back(both);
  return all;
}
Tensor get_gradient(int64_t context_id, const Tensor& leaf) {
  const PassPtr pass = known(context_id);
  const std::lock_guard<std::mutex> lock(pass->mutex);
  const auto at = pass->gradients.find(leaf.impl());
  return at == pass->gradients.end() ? Tensor() : at->second.second;
}

}  // namespace cresset::distributed::autograd
