#include "cresset/dist/ddp/reducer.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "cresset/autograd/accumulate_grad.h"
#include "cresset/autograd/engine.h"
#include "cresset/autograd/grad_mode.h"
#include "cresset/autograd/variable.h"
#include "cresset/ops/functions.h"

namespace cresset::distributed {

namespace {

int64_t bytes_of(const Tensor& t) { return t.numel() * static_cast<int64_t>(t.element_size()); }

// Parameters of one dtype in rows of limited size: `order` is cut where a row is full; the limits are of the first row and of all others.
std::vector<std::vector<size_t>> divided(const Tensors& parameters, const std::vector<size_t>& order, const std::vector<int64_t>& limits) {
  struct Open {
    std::vector<size_t> indices;
    int64_t bytes = 0;
    size_t limit = 0;
  };
  std::vector<std::vector<size_t>> rows;
  std::map<ScalarType, Open> open;
  for (const size_t i : order) {
    Open& row = open[parameters[i].scalar_type()];
    row.indices.push_back(i);
    row.bytes += bytes_of(parameters[i]);
    if (row.bytes < limits[std::min(row.limit, limits.size() - 1)]) continue;
    rows.push_back(std::move(row.indices));
    row.indices.clear();
    row.bytes = 0;
    row.limit++;
  }
  for (auto& [dtype, row] : open)
    if (!row.indices.empty()) rows.push_back(std::move(row.indices));
  // Rows are ready in the order of their first parameters.
  std::vector<size_t> place(parameters.size());
  for (size_t i = 0; i < order.size(); i++) place[order[i]] = i;
  std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return place[a[0]] < place[b[0]]; });
  return rows;
}

bool shares_memory(const Tensor& a, const Tensor& b) { return a.data_ptr() == b.data_ptr() && a.sizes() == b.sizes() && a.strides() == b.strides(); }

}  // namespace

void cast_in_place(const Tensors& tensors, const std::optional<ScalarType>& dtype) {
  const NoGradGuard no_grad;
  for (const Tensor& t : tensors)
    if (dtype && is_floating_type(t.scalar_type()) && t.scalar_type() != *dtype) t.set_data(t.detach().to(*dtype));
}
Tensor in_dtype(const Tensor& t, const std::optional<ScalarType>& dtype) {
  return dtype && t.defined() && is_floating_type(t.scalar_type()) ? t.to(*dtype) : t;
}

struct Reducer::State : std::enable_shared_from_this<Reducer::State> {
  struct Bucket {
    std::vector<size_t> indices;
    GradBucket shown;
    size_t pending = 0;
    bool shared = false;           // whether the row lies in memory that all ranks map
    std::function<Tensor()> wait;  // of a hook
    WorkPtr work;
  };

  Tensors parameters;
  std::vector<std::string> names;
  intrusive_ptr<ProcessGroup> group;
  ReducerOptions options;
  CommHook hook;
  int64_t divisor = 1;

  std::mutex mutex;
  std::vector<Bucket> buckets;
  std::vector<std::pair<size_t, size_t>> place;  // of a parameter: its bucket and its number there
  bool expecting = false, launched_all = false, finished = true, rebuilt = false, first_backward = true, queued = false;
  size_t next = 0;
  std::vector<bool> ready, used, unused_now;
  std::vector<size_t> arrivals;      // in the first backward
  std::vector<int> fired, expected;  // how often the hook of a parameter runs, in a graph that stays the same
  std::vector<unsigned> hooks;
  std::vector<ScalarType> dtypes;  // of the parameters, outside of a forward and its backward
  Tensors lowered, masters;        // parameters in low precision now, and their own values
  bool restore_queued = false;

  void lower() {
    restore();
    restore_queued = false;  // the last backward may have failed
    const auto& dtype = options.mixed_precision.param_dtype;
    if (!dtype) return;
    for (const Tensors* list : {&parameters, &options.frozen})
      for (const Tensor& p : *list)
        if (is_floating_type(p.scalar_type()) && p.scalar_type() != *dtype) {
          lowered.push_back(p);
          masters.push_back(p.detach());
        }
    cast_in_place(lowered, dtype);
  }
  void restore() {
    const NoGradGuard no_grad;
    for (size_t i = 0; i < lowered.size(); i++) lowered[i].set_data(masters[i]);
    lowered.clear();
    masters.clear();
  }
  ScalarType reduced_dtype(size_t i) const {
    const MixedPrecision& m = options.mixed_precision;
    return is_floating_type(dtypes[i]) ? m.reduce_dtype.value_or(m.param_dtype.value_or(dtypes[i])) : dtypes[i];
  }

  // All ranks share the rows where they build them together.
  void build(std::vector<std::vector<size_t>> rows, bool together) {
    buckets.clear();
    place.resize(parameters.size());
    for (size_t b = 0; b < rows.size(); b++) {
      Bucket bucket;
      bucket.indices = std::move(rows[b]);
      int64_t elements = 0;
      for (const size_t i : bucket.indices) elements += parameters[i].numel();
      GradBucket& shown = bucket.shown;
      shown.index = b;
      shown.is_last = b + 1 == rows.size();
      const ScalarType dtype = reduced_dtype(bucket.indices[0]);
      if (together && !hook) waiting([&] { shown.buffer = group->shared_row(elements, dtype); });
      bucket.shared = shown.buffer.defined();
      if (!bucket.shared) shown.buffer = cresset::zeros({elements}, TensorOptions(dtype));
      int64_t at = 0;
      for (size_t n = 0; n < bucket.indices.size(); n++) {
        const Tensor& p = parameters[bucket.indices[n]];
        shown.parameters.push_back(p);
        shown.gradients.push_back(shown.buffer.narrow(0, at, p.numel()).view(p.sizes()));
        place[bucket.indices[n]] = {b, n};
        at += p.numel();
      }
      buckets.push_back(std::move(bucket));
    }
    if (!options.gradient_as_bucket_view) return;
    // Gradients that lie in older buckets move.
    for (size_t i = 0; i < parameters.size(); i++)
      if (parameters[i].grad().defined()) move_into_bucket(i);
  }
  Tensor& view_of(size_t i) { return buckets[place[i].first].shown.gradients[place[i].second]; }
  void move_into_bucket(size_t i) {
    const NoGradGuard no_grad;
    Tensor& grad = parameters[i].mutable_grad();
    Tensor view = view_of(i);
    if (shares_memory(grad, view)) return;
    view.copy_(grad);
    grad = view;
  }

  void begin() {
    for (Bucket& b : buckets) {
      b.pending = b.indices.size();
      b.work = nullptr;
      b.wait = nullptr;
    }
    next = 0;
    expecting = true;
    finished = launched_all = queued = false;
    std::fill(ready.begin(), ready.end(), false);
    std::fill(used.begin(), used.end(), false);
    for (size_t i = 0; i < unused_now.size(); i++) unused_now[i] = options.static_graph && !first_backward && expected[i] == 0;
    std::fill(fired.begin(), fired.end(), 0);
    arrivals.clear();
  }

  // The parameter itself waits for the end of the backward: others may still need its value.
  void in_own_dtype(size_t i) {
    Tensor& grad = parameters[i].mutable_grad();
    if (grad.defined() && grad.scalar_type() != dtypes[i]) grad = grad.detach().to(dtypes[i]);
    if (restore_queued) return;
    restore_queued = true;
    autograd::Engine::get_default_engine().queue_callback([self = shared_from_this()] {
      const std::lock_guard<std::mutex> lock(self->mutex);
      self->restore_queued = false;
      self->restore();
    });
  }

  bool learning_graph() const { return options.static_graph && first_backward; }

  // A parameter's gradient has been added up.
  void arrived(size_t i) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!lowered.empty()) in_own_dtype(i);
    if (options.gradient_as_bucket_view && parameters[i].grad().defined()) move_into_bucket(i);
    if (!expecting) return;
    used[i] = true;
    fired[i]++;
    if (first_backward) arrivals.push_back(i);
    if (!queued) {
      queued = true;
      auto self = shared_from_this();
      autograd::Engine::get_default_engine().queue_callback([self] { self->at_end(); });
      for (size_t j = 0; j < unused_now.size(); j++)
        if (unused_now[j]) mark_ready(j);
    }
    if (learning_graph()) return;
    if (options.static_graph && fired[i] < expected[i]) return;
    CRESSET_CHECK(!ready[i] || options.static_graph, "DistributedDataParallel: the gradient of ", names[i],
                  " is ready a second time in one backward; a parameter that several backward passes of a checkpoint reach wants static_graph=True");
    mark_ready(i);
  }

  void mark_ready(size_t i) {
    if (ready[i]) return;
    ready[i] = true;
    Bucket& bucket = buckets[place[i].first];
    fill(i);
    if (--bucket.pending == 0) launch();
  }

  // Puts a gradient into its bucket, divided where no hook does so.
  void fill(size_t i) {
    const NoGradGuard no_grad;
    Tensor view = view_of(i);
    const Tensor grad = parameters[i].grad();
    if (!used[i] || !grad.defined()) {
      if (!(options.gradient_as_bucket_view && grad.defined() && shares_memory(grad, view))) view.zero_();
      else if (!hook) view.div_(divisor);
      return;
    }
    const Tensor source = grad.detach();
    if (hook) {
      if (!shares_memory(source, view)) view.copy_(source);
    } else if (is_floating_type(view.scalar_type()) || is_complex_type(view.scalar_type())) {
      if (source.scalar_type() == view.scalar_type() && source.layout() == Layout::Strided) cresset::mul_out(view, source, 1.0 / static_cast<double>(divisor));
      else if (source.layout() == Layout::Strided) view.copy_(source / divisor);
      else view.copy_(source).div_(divisor);
    } else {
      view.copy_(source);
    }
  }

  void launch() {
    for (; next < buckets.size() && buckets[next].pending == 0; next++) begin_average(buckets[next]);
    launched_all = next == buckets.size();
  }
  void begin_average(Bucket& b) {
    if (hook) {
      b.wait = hook(b.shown);
      return;
    }
    Tensors list = {b.shown.buffer};
    b.work = b.shared ? group->allreduce_row(list[0]) : group->allreduce(list);
  }

  // The engine has run the whole backward.
  void at_end() {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!expecting) return;
    if (learning_graph()) {
      expected = fired;
      for (size_t i = 0; i < parameters.size(); i++) mark_ready(i);
    }
    // An output that the loss does not use leads to parameters without a gradient.
    for (size_t i = 0; i < parameters.size() && options.find_unused_parameters; i++) mark_ready(i);
    if (!launched_all) return;  // the next forward says which parameters lack a gradient
    std::vector<bool> anywhere = used;
    if (options.find_unused_parameters || options.static_graph) anywhere = used_anywhere();
    for (Bucket& b : buckets) take(b, anywhere);
    expecting = false;
    finished = true;
    after_first_backward(anywhere);
  }
  void after_first_backward(const std::vector<bool>& anywhere) {
    if (!std::exchange(first_backward, false)) return;
    if (!options.find_unused_parameters) rebuild(anywhere);
    else build(bucket_indices(), true);
  }
  std::vector<std::vector<size_t>> bucket_indices() const {
    std::vector<std::vector<size_t>> rows;
    for (const Bucket& b : buckets) rows.push_back(b.indices);
    return rows;
  }

  std::vector<bool> used_anywhere() {
    Tensor map = cresset::zeros({static_cast<int64_t>(used.size())}, TensorOptions(kInt));
    auto* data = static_cast<int32_t*>(map.data_ptr());
    for (size_t i = 0; i < used.size(); i++) data[i] = used[i];
    Tensors list = {map};
    wait_for(group->allreduce(list));
    std::vector<bool> anywhere(used.size());
    for (size_t i = 0; i < used.size(); i++) anywhere[i] = data[i] > 0;
    return anywhere;
  }

  void waiting(const std::function<void()>& f) const {
    if (options.while_waiting) options.while_waiting(f);
    else f();
  }
  void wait_for(const WorkPtr& work) const {
    waiting([&] { work->wait(); });
  }

  void take(Bucket& b, const std::vector<bool>& anywhere) {
    const NoGradGuard no_grad;
    if (b.work) wait_for(b.work);
    if (b.wait) {
      Tensor row;
      waiting([&] { row = b.wait(); });
      if (row.defined() && row.data_ptr() != b.shown.buffer.data_ptr()) b.shown.buffer.copy_(row.view_as(b.shown.buffer));
    }
    b.work = nullptr;
    b.wait = nullptr;
    for (size_t n = 0; n < b.indices.size(); n++) {
      const size_t i = b.indices[n];
      if (!anywhere[i]) continue;
      Tensor& grad = parameters[i].mutable_grad();
      const Tensor& view = b.shown.gradients[n];
      if (options.gradient_as_bucket_view) grad = view;
      else if (grad.defined()) grad.copy_(view);
      else grad = view.scalar_type() == dtypes[i] ? view.clone() : view.to(dtypes[i]);
    }
  }

  // Gradients of one module that come together, a weight's and a bias's say, count from the last parameter to the first, whatever node made them.
  std::vector<size_t> in_order_of_backward(std::vector<size_t> order) const {
    auto module_of = [&](size_t i) { return names[i].substr(0, names[i].rfind('.') == std::string::npos ? 0 : names[i].rfind('.')); };
    for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
      for (end = begin + 1; end < order.size() && module_of(order[end]) == module_of(order[begin]);) end++;
      std::sort(order.begin() + static_cast<std::ptrdiff_t>(begin), order.begin() + static_cast<std::ptrdiff_t>(end), std::greater<size_t>());
    }
    return order;
  }
  // Ranks agree on the order of rank 0.
  void rebuild(const std::vector<bool>& anywhere) {
    std::vector<size_t> order;
    std::vector<bool> seen(parameters.size());
    auto add = [&](size_t i) {
      if (!seen[i]) order.push_back(i);
      seen[i] = true;
    };
    for (const size_t i : in_order_of_backward(arrivals))
      if (anywhere[i]) add(i);
    for (size_t i = parameters.size(); i-- > 0;) add(i);
    Tensor agreed = cresset::empty({static_cast<int64_t>(order.size())}, TensorOptions(kLong));
    auto* data = static_cast<int64_t*>(agreed.data_ptr());
    std::copy(order.begin(), order.end(), data);
    Tensors list = {agreed};
    wait_for(group->broadcast(list));
    std::copy(data, data + order.size(), order.begin());
    build(divided(parameters, order, options.bucket_bytes), true);
    rebuilt = true;
  }

  // Parameters whose accumulators no output leads to.
  void find_unused(const Tensors& outputs) {
    std::unordered_set<autograd::Node*> seen;
    std::vector<autograd::Node*> open;
    auto visit = [&](autograd::Node* node) {
      if (node && seen.insert(node).second) open.push_back(node);
    };
    for (const Tensor& t : outputs)
      if (t.requires_grad()) visit(autograd::impl::gradient_edge(t).function.get());
    while (!open.empty()) {
      autograd::Node* const node = open.back();
      open.pop_back();
      for (const auto& edge : node->next_edges()) visit(edge.function.get());
    }
    for (size_t i = 0; i < parameters.size(); i++) {
      const auto accumulator = autograd::impl::try_get_grad_accumulator(parameters[i]);
      unused_now[i] = !accumulator || !seen.count(accumulator.get());
    }
  }

  std::string missing_names() const {
    std::string text;
    for (size_t i = 0; i < parameters.size(); i++)
      if (!ready[i]) text += (text.empty() ? "" : ", ") + names[i];
    return text;
  }
};

Reducer::Reducer(Tensors parameters, std::vector<std::string> names, intrusive_ptr<ProcessGroup> group, ReducerOptions options)
    : state_(std::make_shared<State>()) {
  CRESSET_CHECK(!parameters.empty(), "DistributedDataParallel: expected a module with parameters that need gradients, got none");
  CRESSET_CHECK_VALUE(group, "DistributedDataParallel: expected a process group, got none");
  State& s = *state_;
  const size_t n = parameters.size();
  s.parameters = std::move(parameters);
  s.names = std::move(names);
  for (size_t i = s.names.size(); i < n; i++) s.names.push_back(str("parameter ", i));
  s.divisor = group->getSize();
  s.group = std::move(group);
  s.options = std::move(options);
  for (const Tensor& p : s.parameters) s.dtypes.push_back(p.scalar_type());
  for (size_t i = 0; i < n && s.options.gradient_as_bucket_view; i++)
    CRESSET_CHECK_VALUE(s.reduced_dtype(i) == s.dtypes[i], "DistributedDataParallel: gradient_as_bucket_view: the gradient of ", s.names[i], " is ",
                        s.dtypes[i], " and cannot be a part of a bucket of ", s.reduced_dtype(i), "; leave the option out, or set reduce_dtype");
  s.ready.resize(n);
  s.used.resize(n);
  s.unused_now.resize(n);
  s.fired.resize(n);
  // Backward reaches the last parameters first. Where the buckets are divided anew after the first backward, one will do till then.
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  auto rows =
      divided(s.parameters, order, s.options.find_unused_parameters && !s.options.static_graph ? s.options.bucket_bytes : std::vector<int64_t>{INT64_MAX});
  std::reverse(rows.begin(), rows.end());
  s.build(std::move(rows), false);
  for (size_t i = 0; i < n; i++)
    s.hooks.push_back(autograd::register_post_accumulate_grad_hook(s.parameters[i], [weak = std::weak_ptr<State>(state_), i](const Tensor&) {
      if (const auto state = weak.lock()) state->arrived(i);
    }));
}

Reducer::~Reducer() {
  for (size_t i = 0; i < state_->hooks.size(); i++) autograd::remove_post_accumulate_grad_hook(state_->parameters[i], state_->hooks[i]);
}

void Reducer::prepare_for_forward() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->lower();
}
void Reducer::restore_parameters() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->restore();
}
void Reducer::prepare_for_backward(const Tensors& outputs) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (!state_->finished && state_->queued) {
    const std::string missing = state_->missing_names();
    state_->finished = true;
    throw Error(str("DistributedDataParallel: the last backward brought no gradient to ", missing,
                    "; a model that uses only a part of its parameters wants find_unused_parameters=True, and every output of forward in the loss"));
  }
  state_->begin();
  if (state_->options.find_unused_parameters && !state_->options.static_graph) state_->find_unused(outputs);
}
void Reducer::skip_next_backward() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->expecting = false;
  if (!GradMode::is_enabled()) state_->restore();
}
void Reducer::register_comm_hook(CommHook hook) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  CRESSET_CHECK(!state_->hook, "DistributedDataParallel: a communication hook is registered already");
  state_->hook = std::move(hook);
}
void Reducer::register_builtin_comm_hook(BuiltinCommHookType type) {
  const auto state = state_.get();
  const bool half = type == BuiltinCommHookType::Fp16Compress;
  register_comm_hook([state, half](GradBucket& bucket) -> std::function<Tensor()> {
    const NoGradGuard no_grad;
    Tensor row = half ? bucket.buffer.to(kHalf).div_(state->divisor) : bucket.buffer.div_(state->divisor);
    Tensors list = {row};
    const WorkPtr work = state->group->allreduce(list);
    return [work, row] {
      work->wait();
      return row;
    };
  });
}
void Reducer::set_divisor(int64_t ranks) { state_->divisor = ranks; }
bool Reducer::rebuild_buckets() { return state_->rebuilt; }

void Reducer::shadow_backward() {
  State& s = *state_;
  const std::lock_guard<std::mutex> lock(s.mutex);
  s.begin();
  for (State::Bucket& b : s.buckets) {
    b.shown.buffer.zero_();
    s.begin_average(b);
  }
  std::fill(s.used.begin(), s.used.end(), false);
  std::vector<bool> anywhere = s.used;
  if (s.options.find_unused_parameters || s.options.static_graph) anywhere = s.used_anywhere();
  for (State::Bucket& b : s.buckets) {
    if (b.work) s.wait_for(b.work);
    if (b.wait) s.waiting([&] { b.wait(); });
  }
  s.expecting = false;
  s.finished = true;
  s.after_first_backward(anywhere);
}

std::vector<std::vector<size_t>> Reducer::bucket_indices() const { return state_->bucket_indices(); }

namespace {

Tensor numbers(const std::vector<int64_t>& values) {
  Tensor t = cresset::empty({static_cast<int64_t>(values.size())}, TensorOptions(kLong));
  std::copy(values.begin(), values.end(), static_cast<int64_t*>(t.data_ptr()));
  return t;
}
// The row of every rank.
std::vector<std::vector<int64_t>> gathered(ProcessGroup& group, const std::vector<int64_t>& own) {
  const int64_t n = static_cast<int64_t>(own.size());
  Tensor all = cresset::empty({group.getSize() * n}, TensorOptions(kLong)), mine = numbers(own);
  AllgatherOptions now;
  now.asyncOp = false;
  group._allgather_base(all, mine, now)->wait();
  const auto* data = static_cast<const int64_t*>(all.data_ptr());
  std::vector<std::vector<int64_t>> rows;
  for (int64_t r = 0; r < group.getSize(); r++) rows.emplace_back(data + r * n, data + (r + 1) * n);
  return rows;
}

}  // namespace

void Reducer::verify_parameters(ProcessGroup& group, const Tensors& parameters) {
  const auto count = static_cast<int64_t>(parameters.size());
  const auto counts = gathered(group, {count});
  for (size_t r = 0; r < counts.size(); r++)
    CRESSET_CHECK(counts[r][0] == count, "DistributedDataParallel: expected the same model on all ranks, rank ", group.getRank(), " has ", count,
                  " params and rank ", r, " has ", counts[r][0]);
  std::vector<int64_t> facts;
  for (const Tensor& p : parameters) {
    int64_t mixed = static_cast<int64_t>(p.scalar_type()) + 1;
    for (const int64_t size : p.sizes()) mixed = static_cast<int64_t>(static_cast<uint64_t>(mixed) * 1000003u + static_cast<uint64_t>(size));
    facts.push_back(mixed);
  }
  const auto all = gathered(group, facts);
  for (size_t r = 0; r < all.size(); r++)
    for (size_t i = 0; i < facts.size(); i++)
      CRESSET_CHECK(all[r][i] == facts[i], "DistributedDataParallel: expected the same model on all ranks, parameter ", i, " of rank ", group.getRank(), " is ",
                    parameters[i].scalar_type(), " of shape ", parameters[i].sizes(), ", that of rank ", r, " differs");
}

void broadcast_coalesced(ProcessGroup& group, const Tensors& tensors, int64_t root, int64_t bytes) {
  const NoGradGuard no_grad;
  std::map<ScalarType, std::pair<Tensors, int64_t>> open;
  BroadcastOptions now;
  now.asyncOp = false;
  now.rootRank = root;
  auto send = [&](Tensors& list) {
    if (list.empty()) return;
    Tensors flat;
    for (const Tensor& t : list) flat.push_back(t.detach().reshape({-1}));
    Tensors row = {cresset::cat(flat)};
    group.broadcast(row, now)->wait();
    int64_t at = 0;
    for (const Tensor& t : list) {
      if (group.getRank() != root) t.detach().copy_(row[0].narrow(0, at, t.numel()).view(t.sizes()));
      at += t.numel();
    }
    list.clear();
  };
  for (const Tensor& t : tensors) {
    auto& [list, held] = open[t.scalar_type()];
    list.push_back(t);
    held += bytes_of(t);
    if (held < bytes) continue;
    send(list);
    held = 0;
  }
  for (auto& [dtype, held] : open) send(held.first);
}

}  // namespace cresset::distributed
