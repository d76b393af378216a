#include "cresset/dist/process_group.h"

#include <deque>

#include "cresset/autograd/grad_mode.h"
#include "cresset/dist/mesh.h"
#include "cresset/ops/functions.h"

namespace cresset::distributed {

namespace {

using std::chrono::milliseconds;

// Up to here a rank sends all it has at once, and reduces what all have sent.
constexpr int64_t kSmallBytes = 32 << 10;
// Size exchanged and reduced in one go while it is in the cache.
constexpr int64_t kSliceBytes = 1 << 20;

int64_t bytes_of(const Tensor& t) { return t.numel() * static_cast<int64_t>(t.element_size()); }

void combine(ReduceOp op, Tensor into, const Tensor& from) {
  switch (op) {
    case ReduceOp::Sum:
    case ReduceOp::Avg: into.add_(from); break;
    case ReduceOp::Product: into.mul_(from); break;
    case ReduceOp::Min: cresset::minimum_out(into, into, from); break;
    case ReduceOp::Max: cresset::maximum_out(into, into, from); break;
    case ReduceOp::Band: into.bitwise_and_(from); break;
    case ReduceOp::Bor: into.bitwise_or_(from); break;
    case ReduceOp::Bxor: into.bitwise_xor_(from); break;
  }
}

// A tensor of a group's operation as a row of elements. Where its memory is not one, the row is a copy, which `finish` writes back.
struct Flat {
  Tensor original, row;
  explicit Flat(const Tensor& t) : original(t), row(t.contiguous().view({-1})) {}
  void finish() {
    if (row.numel() > 0 && row.data_ptr() != original.data_ptr()) original.copy_(row.view(original.sizes()));
  }
};

struct Task : Work {
  std::function<void()> body;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::exception_ptr error;

  void finish(std::exception_ptr e) {
    const std::lock_guard<std::mutex> lock(mutex);
    error = std::move(e);
    done = true;
    body = nullptr;
    ended.notify_all();
  }
  bool is_completed() override {
    const std::lock_guard<std::mutex> lock(mutex);
    return done;
  }
  void wait(milliseconds timeout) override {
    std::unique_lock<std::mutex> lock(mutex);
    auto is_done = [&] { return done; };
    if (timeout.count() > 0) CRESSET_CHECK(ended.wait_for(lock, timeout, is_done), "dist: the operation has not ended after ", timeout.count(), " ms");
    else ended.wait(lock, is_done);
    if (error) std::rethrow_exception(error);
  }
};

}  // namespace

struct ProcessGroup::State {
  std::shared_ptr<Store> store;
  milliseconds timeout;
  std::unique_ptr<Mesh> mesh;
  std::unique_ptr<Mailbox> mailbox;
  std::mutex turn;  // held while an operation runs

  std::mutex mutex;
  std::condition_variable queued;
  std::deque<std::shared_ptr<Task>> queue;
  int64_t pending = 0;
  bool closing = false;
  std::string broken;
  std::thread thread;

  int rank() const { return mesh->rank(); }
  int size() const { return mesh->size(); }

  ~State() {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      closing = true;
    }
    queued.notify_all();
    if (thread.joinable()) thread.join();
  }

  void execute(Task& task) {
    std::exception_ptr error;
    {
      const std::lock_guard<std::mutex> lock(turn);
      const NoGradGuard no_grad;
      try {
        CRESSET_CHECK(broken.empty(), "dist: the group is of no use since an operation failed: ", broken);
        task.body();
      } catch (const std::exception& e) {
        if (broken.empty()) broken = e.what();
        error = std::current_exception();
      }
    }
    {
      const std::lock_guard<std::mutex> lock(mutex);
      pending--;
    }
    task.finish(std::move(error));
  }

  void work_off() {
    for (;;) {
      std::shared_ptr<Task> task;
      {
        std::unique_lock<std::mutex> lock(mutex);
        queued.wait(lock, [&] { return closing || !queue.empty(); });
        if (queue.empty()) return;
        task = std::move(queue.front());
        queue.pop_front();
      }
      execute(*task);
    }
  }

  WorkPtr run(bool async, Collective what, ScalarType dtype, std::function<void()> body) {
    auto task = std::make_shared<Task>();
    task->body = [this, what, dtype, body = std::move(body)] {
      mesh->begin(what, dtype, after(timeout));
      body();
    };
    {
      std::unique_lock<std::mutex> lock(mutex);
      if (pending++ > 0 || async) {
        queue.push_back(task);
        if (!thread.joinable()) thread = std::thread([this] { work_off(); });
        queued.notify_one();
        lock.unlock();
        if (!async) task->wait(milliseconds(0));
        return task;
      }
    }
    execute(*task);
    task->wait(milliseconds(0));
    return task;
  }

  void check_root(const char* name, int64_t root) const {
    CRESSET_CHECK_VALUE(root >= 0 && root < size(), name, ": expected a rank in [0, ", size(), "), got ", root);
  }
  static void check_tensor(const char* name, const Tensor& t) {
    CRESSET_CHECK_TYPE(t.defined(), name, ": expected a tensor, got an undefined one");
    CRESSET_CHECK(t.device().is_cpu() && t.layout() == Layout::Strided, name, ": expected a dense tensor on the CPU, got layout ", t.layout(), " on ",
                  t.device());
  }
  // `like` gives dtype and shape; where `any_size` the dtype alone.
  void check_list(const char* name, const char* what, const std::vector<Tensor>& list, const Tensor& like, bool any_size = false) const {
    CRESSET_CHECK_VALUE(static_cast<int>(list.size()) == size(), name, ": expected ", size(), " ", what, " tensors, one for each rank, got ", list.size());
    for (const Tensor& t : list) {
      check_tensor(name, t);
      CRESSET_CHECK_TYPE(t.scalar_type() == like.scalar_type(), name, ": expected ", what, " tensors of dtype ", like.scalar_type(), ", got ", t.scalar_type());
      CRESSET_CHECK_VALUE(any_size || t.numel() == like.numel(), name, ": expected ", what, " tensors of ", like.numel(), " elements, got ", t.sizes());
    }
  }
  static void check_reduction(const char* name, ReduceOp op, ScalarType t) {
    const bool bits = op == ReduceOp::Band || op == ReduceOp::Bor || op == ReduceOp::Bxor;
    CRESSET_CHECK(!bits || is_integral_type(t, true), name, ": bitwise reductions want an integer dtype, got ", t);
    CRESSET_CHECK((op != ReduceOp::Min && op != ReduceOp::Max) || !is_complex_type(t), name, ": complex numbers have no order, got ", t);
    CRESSET_CHECK(op != ReduceOp::Avg || !is_integral_type(t, true), name, ": an average wants a floating-point dtype, got ", t);
  }

  int next() const { return (rank() + 1) % size(); }
  int previous() const { return (rank() + size() - 1) % size(); }

  // Sends `out` to the next rank, slice by slice, while what the previous one sends is reduced into `in_out`.
  void exchange_and_combine(const Tensor& out, Tensor in_out, Tensor& buffer, ReduceOp op) {
    const auto element = static_cast<int64_t>(in_out.element_size());
    const int64_t step = kSliceBytes / element;
    for (int64_t at = 0; at < std::max(out.numel(), in_out.numel()); at += step) {
      const int64_t going = std::clamp<int64_t>(out.numel() - at, 0, step), coming = std::clamp<int64_t>(in_out.numel() - at, 0, step);
      const char* const source = static_cast<const char*>(out.data_ptr()) + (going ? at * element : 0);
      mesh->exchange(next(), source, static_cast<size_t>(going * element), previous(), buffer.data_ptr(), static_cast<size_t>(coming * element));
      if (coming) combine(op, in_out.narrow(0, at, coming), buffer.narrow(0, 0, coming));
    }
  }

  // Chunk i of the row, reduced over the ranks, ends at rank i.
  void reduce_chunks(const std::vector<Tensor>& chunks, ReduceOp op) {
    int64_t longest = 0;
    for (const Tensor& c : chunks) longest = std::max(longest, c.numel());
    const int64_t slice = std::min<int64_t>(longest, kSliceBytes / static_cast<int64_t>(chunks[0].element_size()));
    Tensor buffer = cresset::empty({slice}, chunks[0].options());
    const int n = size();
    auto chunk = [&](int i) { return chunks[static_cast<size_t>(((i % n) + n) % n)]; };
    for (int s = 1; s < n; s++) exchange_and_combine(chunk(rank() - s), chunk(rank() - s - 1), buffer, op);
    if (op == ReduceOp::Avg) chunk(rank()).div_(n);
  }
  // Chunk i goes from rank i to all.
  void gather_chunks(const std::vector<Tensor>& chunks) {
    const int n = size();
    auto chunk = [&](int i) { return chunks[static_cast<size_t>(((i % n) + n) % n)]; };
    for (int s = 0; s < n - 1; s++) {
      const Tensor out = chunk(rank() - s), in = chunk(rank() - s - 1);
      mesh->exchange(next(), out.data_ptr(), static_cast<size_t>(bytes_of(out)), previous(), in.data_ptr(), static_cast<size_t>(bytes_of(in)));
    }
  }

  void all_reduce_row(Tensor row, ReduceOp op) {
    const int n = size();
    if (n == 1 || row.numel() == 0) return;
    if (bytes_of(row) <= kSmallBytes) {
      Tensor all = cresset::empty({n, row.numel()}, row.options());
      std::vector<Tensor> parts;
      for (int i = 0; i < n; i++) parts.push_back(all.select(0, i));
      parts[static_cast<size_t>(rank())].copy_(row);
      gather_chunks(parts);
      for (int i = 1; i < n; i++) combine(op, parts[0], parts[static_cast<size_t>(i)]);
      if (op == ReduceOp::Avg) parts[0].div_(n);
      row.copy_(parts[0]);
      return;
    }
    std::vector<Tensor> chunks;
    for (int i = 0; i < n; i++) {
      const int64_t begin = row.numel() * i / n, end = row.numel() * (i + 1) / n;
      chunks.push_back(row.narrow(0, begin, end - begin));
    }
    reduce_chunks(chunks, op);
    gather_chunks(chunks);
  }
};

ProcessGroup::ProcessGroup(std::shared_ptr<Store> store, int64_t rank, int64_t size, milliseconds timeout) : state_(std::make_unique<State>()) {
  CRESSET_CHECK_VALUE(store, "ProcessGroup: expected a store, got none");
  CRESSET_CHECK_VALUE(size > 0 && size <= 1 << 16, "ProcessGroup: expected a positive number of ranks, got ", size);
  CRESSET_CHECK_VALUE(rank >= 0 && rank < size, "ProcessGroup: expected a rank in [0, ", size, "), got ", rank);
  std::vector<Socket> collectives, messages;
  for (Peer& p : connect_peers(*store, static_cast<int>(rank), static_cast<int>(size), after(timeout))) {
    collectives.push_back(std::move(p.collectives));
    messages.push_back(std::move(p.messages));
  }
  state_->store = std::move(store);
  state_->timeout = timeout;
  state_->mesh = std::make_unique<Mesh>(static_cast<int>(rank), std::move(collectives));
  state_->mailbox = std::make_unique<Mailbox>(static_cast<int>(rank), std::move(messages));
}
ProcessGroup::~ProcessGroup() = default;

int64_t ProcessGroup::rank() const { return state_->rank(); }
int64_t ProcessGroup::size() const { return state_->size(); }
milliseconds ProcessGroup::timeout() const { return state_->timeout; }
void ProcessGroup::set_timeout(milliseconds timeout) { state_->timeout = timeout; }

ProcessGroup::WorkPtr ProcessGroup::all_reduce(Tensor tensor, ReduceOp op, bool async) {
  State::check_tensor("all_reduce", tensor);
  State::check_reduction("all_reduce", op, tensor.scalar_type());
  return state_->run(async, Collective::AllReduce, tensor.scalar_type(), [s = state_.get(), tensor, op] {
    Flat flat(tensor);
    s->all_reduce_row(flat.row, op);
    flat.finish();
  });
}

ProcessGroup::WorkPtr ProcessGroup::reduce(Tensor tensor, int64_t root, ReduceOp op, bool async) {
  State::check_tensor("reduce", tensor);
  state_->check_root("reduce", root);
  State::check_reduction("reduce", op, tensor.scalar_type());
  return state_->run(async, Collective::Reduce, tensor.scalar_type(), [s = state_.get(), tensor, root, op] {
    Flat flat(tensor);
    const auto bytes = static_cast<size_t>(bytes_of(flat.row));
    if (s->rank() != root) return s->mesh->send(static_cast<int>(root), flat.row.data_ptr(), bytes);
    const Tensor buffer = cresset::empty_like(flat.row);
    for (int from = 0; from < s->size(); from++) {
      if (from == root) continue;
      s->mesh->receive(from, buffer.data_ptr(), bytes);
      combine(op, flat.row, buffer);
    }
    if (op == ReduceOp::Avg) flat.row.div_(s->size());
    flat.finish();
  });
}

ProcessGroup::WorkPtr ProcessGroup::broadcast(Tensor tensor, int64_t root, bool async) {
  State::check_tensor("broadcast", tensor);
  state_->check_root("broadcast", root);
  return state_->run(async, Collective::Broadcast, tensor.scalar_type(), [s = state_.get(), tensor, root] {
    Flat flat(tensor);
    const auto bytes = static_cast<size_t>(bytes_of(flat.row));
    // A tree: whoever has the data passes it on to the rank 1, 2, 4 ... places further that has none yet.
    const int n = s->size(), own = static_cast<int>((s->rank() - root + n) % n);
    auto rank_at = [&](int place) { return static_cast<int>((place + root) % n); };
    int step = 1;
    while (step <= own) step *= 2;
    if (own > 0) s->mesh->receive(rank_at(own - step / 2), flat.row.data_ptr(), bytes);
    for (; own + step < n; step *= 2) s->mesh->send(rank_at(own + step), flat.row.data_ptr(), bytes);
    flat.finish();
  });
}

ProcessGroup::WorkPtr ProcessGroup::all_gather(std::vector<Tensor> outputs, Tensor input, bool async) {
  State::check_tensor("all_gather", input);
  state_->check_list("all_gather", "output", outputs, input);
  return state_->run(async, Collective::AllGather, input.scalar_type(), [s = state_.get(), outputs = std::move(outputs), input] {
    std::vector<Flat> flats(outputs.begin(), outputs.end());
    std::vector<Tensor> rows;
    for (const Flat& f : flats) rows.push_back(f.row);
    rows[static_cast<size_t>(s->rank())].copy_(input.reshape({-1}));
    s->gather_chunks(rows);
    for (Flat& f : flats) f.finish();
  });
}

ProcessGroup::WorkPtr ProcessGroup::gather(std::vector<Tensor> outputs, Tensor input, int64_t root, bool async) {
  State::check_tensor("gather", input);
  state_->check_root("gather", root);
  const bool receives = state_->rank() == root;
  CRESSET_CHECK_VALUE(receives || outputs.empty(), "gather: only rank ", root, " takes a list of outputs");
  if (receives) state_->check_list("gather", "output", outputs, input);
  return state_->run(async, Collective::Gather, input.scalar_type(), [s = state_.get(), outputs = std::move(outputs), input, root, receives] {
    const Flat flat(input);
    const auto bytes = static_cast<size_t>(bytes_of(flat.row));
    if (!receives) return s->mesh->send(static_cast<int>(root), flat.row.data_ptr(), bytes);
    for (int from = 0; from < s->size(); from++) {
      Flat out(outputs[static_cast<size_t>(from)]);
      if (from == root) out.row.copy_(flat.row);
      else s->mesh->receive(from, out.row.data_ptr(), bytes);
      out.finish();
    }
  });
}

ProcessGroup::WorkPtr ProcessGroup::scatter(Tensor output, std::vector<Tensor> inputs, int64_t root, bool async) {
  State::check_tensor("scatter", output);
  state_->check_root("scatter", root);
  const bool sends = state_->rank() == root;
  CRESSET_CHECK_VALUE(sends || inputs.empty(), "scatter: only rank ", root, " gives a list of inputs");
  if (sends) state_->check_list("scatter", "input", inputs, output);
  return state_->run(async, Collective::Scatter, output.scalar_type(), [s = state_.get(), output, inputs = std::move(inputs), root, sends] {
    Flat flat(output);
    const auto bytes = static_cast<size_t>(bytes_of(flat.row));
    if (!sends) s->mesh->receive(static_cast<int>(root), flat.row.data_ptr(), bytes);
    for (int to = 0; sends && to < s->size(); to++) {
      const Flat in(inputs[static_cast<size_t>(to)]);
      if (to == root) flat.row.copy_(in.row);
      else s->mesh->send(to, in.row.data_ptr(), bytes);
    }
    flat.finish();
  });
}

ProcessGroup::WorkPtr ProcessGroup::reduce_scatter(Tensor output, std::vector<Tensor> inputs, ReduceOp op, bool async) {
  State::check_tensor("reduce_scatter", output);
  State::check_reduction("reduce_scatter", op, output.scalar_type());
  state_->check_list("reduce_scatter", "input", inputs, output);
  return state_->run(async, Collective::ReduceScatter, output.scalar_type(), [s = state_.get(), output, inputs = std::move(inputs), op] {
    std::vector<Tensor> rows;
    for (const Tensor& t : inputs) rows.push_back(t.reshape({-1}).clone());
    s->reduce_chunks(rows, op);
    Flat flat(output);
    flat.row.copy_(rows[static_cast<size_t>(s->rank())]);
    flat.finish();
  });
}

ProcessGroup::WorkPtr ProcessGroup::all_to_all(std::vector<Tensor> outputs, std::vector<Tensor> inputs, bool async) {
  CRESSET_CHECK_VALUE(!inputs.empty(), "all_to_all: expected ", size(), " input tensors, got none");
  State::check_tensor("all_to_all", inputs[0]);
  state_->check_list("all_to_all", "input", inputs, inputs[0], true);
  state_->check_list("all_to_all", "output", outputs, inputs[0], true);
  const ScalarType dtype = inputs[0].scalar_type();
  return state_->run(async, Collective::AllToAll, dtype, [s = state_.get(), outputs = std::move(outputs), inputs = std::move(inputs)] {
    const int n = s->size();
    for (int d = 0; d < n; d++) {
      const int to = (s->rank() + d) % n, from = (s->rank() - d + n) % n;
      const Flat in(inputs[static_cast<size_t>(to)]);
      Flat out(outputs[static_cast<size_t>(from)]);
      if (d == 0) out.row.copy_(in.row);
      else s->mesh->exchange(to, in.row.data_ptr(), static_cast<size_t>(bytes_of(in.row)), from, out.row.data_ptr(), static_cast<size_t>(bytes_of(out.row)));
      out.finish();
    }
  });
}

ProcessGroup::WorkPtr ProcessGroup::barrier(bool async) {
  return state_->run(async, Collective::Barrier, kByte, [s = state_.get()] {
    // After the k-th step a rank has heard, through others, of 2^k ranks.
    const int n = s->size();
    for (int step = 1; step < n; step *= 2) s->mesh->exchange((s->rank() + step) % n, nullptr, 0, (s->rank() - step + n) % n, nullptr, 0);
  });
}

namespace {

struct Sent : Work {
  bool is_completed() override { return true; }
  void wait(milliseconds) override {}
};

}  // namespace

ProcessGroup::WorkPtr ProcessGroup::send(Tensor tensor, int64_t to, int64_t tag) {
  State::check_tensor("send", tensor);
  state_->check_root("send", to);
  CRESSET_CHECK_VALUE(to != rank(), "send: rank ", to, " cannot send to itself");
  const Flat flat(tensor);
  state_->mailbox->send(static_cast<int>(to), tag, flat.row.data_ptr(), static_cast<size_t>(bytes_of(flat.row)), after(timeout()));
  return std::make_shared<Sent>();
}

ProcessGroup::WorkPtr ProcessGroup::receive(Tensor tensor, int64_t from, int64_t tag) {
  State::check_tensor("recv", tensor);
  if (from != -1) state_->check_root("recv", from);
  CRESSET_CHECK_VALUE(from != rank(), "recv: rank ", from, " cannot receive from itself");
  struct Receiving : Work {
    Mailbox* mailbox;
    Flat flat;
    milliseconds timeout;
    std::shared_ptr<Mailbox::Receive> posted;
    bool written = false;

    Receiving(Mailbox* m, const Tensor& t, milliseconds time) : mailbox(m), flat(t), timeout(time) {}
    bool is_completed() override { return mailbox->done(*posted); }
    int64_t source_rank() const override { return posted->source; }
    void wait(milliseconds time) override {
      const milliseconds limit = time.count() > 0 ? time : timeout;
      CRESSET_CHECK(mailbox->wait(*posted, after(limit)), "recv: no message with tag ", posted->tag, " came in ", limit.count(), " ms");
      CRESSET_CHECK(posted->error.empty(), posted->error);
      if (!std::exchange(written, true)) flat.finish();
    }
  };
  auto work = std::make_shared<Receiving>(state_->mailbox.get(), tensor, timeout());
  work->posted = state_->mailbox->post(static_cast<int>(from), tag, work->flat.row.data_ptr(), static_cast<size_t>(bytes_of(work->flat.row)));
  return work;
}

}  // namespace cresset::distributed
