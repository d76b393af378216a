// Values as bytes, and calls between workers, each a process of its own.
#include "cresset/dist/rpc/rpc.h"
#include "cresset/dist/rpc/autograd.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <sstream>
#include <thread>

#include "cresset/cresset.h"
#include "cresset/dispatch/values/dict.h"
#include "cresset/dispatch/values/list.h"
#include "cresset/dist/rpc/distributed_optimizer.h"
#include "cresset/dist/rpc/frame.h"
#include "cresset/dist/rpc/references.h"
#include "cresset/dist/store/tcp_store.h"
#include "cresset/dist/transport/secret.h"
#include "cresset/dist/transport/socket.h"
#include "error_of.h"

namespace cresset::distributed::rpc {
namespace {

Value list_of(std::vector<Value> values) { return Value(dispatch::GenericList(ArrayRef<Value>(values))); }

std::string text_of(const Value& v) {
  std::ostringstream out;
  out << v;
  return out.str();
}

TEST(RpcWire, ValuesComeBack) {
  dispatch::GenericDict dict;
  dict.insert_or_assign(Value("a"), Value(1));
  dict.insert_or_assign(Value(2), list_of({Value(2.5), Value()}));
  for (const Value& v :
       std::vector<Value>{Value(), Value(true), Value(0), Value(int64_t{-1}), Value(int64_t{255}), Value(INT64_MAX), Value(INT64_MIN), Value(-0.5),
                          Value(complex<double>(1, -2)), Value("text \u00e4"), Value(std::string("\xff\x00z", 3)), Value(kBFloat16), Value(Device("cpu")),
                          list_of({Value(1), Value("b")}), Value(dispatch::TupleObject::create({Value(1), Value(2)})), Value(dict)}) {
    const Value back = decode(encode(v));
    EXPECT_EQ(text_of(back), text_of(v));
    EXPECT_TRUE(back == v) << v;
  }
  EXPECT_EQ(decode(encode(Value(std::vector<int64_t>{3, 4}))).toIntVector(), (std::vector<int64_t>{3, 4}));
}

TEST(RpcWire, TensorsKeepDtypeShapeAndGradientFlag) {
  for (const ScalarType type : {kFloat, kDouble, kHalf, kBFloat16, kInt, kBool, kComplexFloat}) {
    const Tensor t = arange(6).reshape({2, 3}).to(type).t();
    const Tensor back = decode(encode(Value(t))).toTensor();
    EXPECT_EQ(back.scalar_type(), type);
    EXPECT_TRUE(equal(back, t));
  }
  EXPECT_TRUE(decode(encode(Value(ones({2}).requires_grad_(true)))).toTensor().requires_grad());
  EXPECT_EQ(decode(encode(Value(empty({0, 3})))).toTensor().sizes(), IntArrayRef({0, 3}));
}

TEST(RpcWire, DamagedBytesAreErrors) {
  const std::string whole = encode(list_of({Value(ones({3})), Value("abc"), Value(7)}));
  for (size_t n = 0; n < whole.size(); n++) EXPECT_NE(error_of([&] { decode(whole.substr(0, n)); }), "no error") << n;
  EXPECT_NE(error_of([&] { decode(whole + "0"); }).find("bytes follow the end"), std::string::npos);
  std::string deep;
  for (int i = 0; i < 300; i++) append_head(deep, 'l', 1);
  EXPECT_NE(error_of([&] { decode(deep + "0"); }).find("at most 200 deep"), std::string::npos);
  EXPECT_NE(error_of([&] { decode("O"); }).find("a class that C++ does not know"), std::string::npos);
  std::string promises;
  append_head(promises, 'l', uint64_t{1} << 60);
  EXPECT_NE(error_of([&] { decode(promises); }).find("end early"), std::string::npos);
}

TEST(RpcFrames, ComeTogetherFromAnyPieces) {
  const std::string stream = frame_head(5, 3) + "abc" + frame_head(6, 0) + frame_head(7, 1) + "z";
  for (size_t piece = 1; piece <= stream.size(); piece++) {
    FrameReader reader;
    std::string seen;
    for (size_t at = 0; at < stream.size(); at += piece)
      reader.feed(std::string_view(stream).substr(at, piece), [&](uint64_t number, const std::string& body) { seen += str(number, ":", body, " "); });
    EXPECT_EQ(seen, "5:abc 6: 7:z ") << piece;
  }
  EXPECT_NE(error_of([] { FrameReader().feed(std::string(16, '\xff'), [](uint64_t, const std::string&) {}); }).find("not a message"), std::string::npos);
}

TEST(RpcReferences, EndWithTheirLastHolder) {
  References all;
  const ReferenceId id{0, 1};
  auto value = std::make_shared<int>(3);
  const std::weak_ptr<int> alive = value;
  all.keep(id, std::move(value), 0);
  all.add(id, 0);   // 0 sends one to 1
  all.drop(id, 1);  // whose end is told before its coming
  all.move(id, 0, 1);
  EXPECT_FALSE(alive.expired());
  all.add(id, 0);
  all.move(id, 0, 2);
  all.drop(id, 0);  // 2 alone holds it
  EXPECT_FALSE(alive.expired());
  all.forget(2);
  EXPECT_TRUE(alive.expired());
  EXPECT_NE(error_of([&] { all.value(id); }).find("is gone"), std::string::npos);
}

// Runs `f(rank)` in processes of their own, this one being the last rank; the others' exit codes.
std::vector<int> in_processes(int size, const std::function<void(int rank, const intrusive_ptr<Store>& store)>& f) {
  TCPStoreOptions o;
  o.isServer = true;
  o.port = 0;
  int pipes[2];
  EXPECT_EQ(pipe(pipes), 0);
  std::vector<pid_t> pids;
  for (int rank = 0; rank < size; rank++) {
    const pid_t pid = fork();
    if (pid == 0) {
      alarm(60);
      uint16_t port = 0;
      if (read(pipes[0], &port, sizeof port) != sizeof port) _exit(9);
      TCPStoreOptions own;
      own.port = port;
      own.timeout = std::chrono::seconds(30);
      const std::string error = error_of([&] { f(rank, make_intrusive<TCPStore>("127.0.0.1", own)); });
      if (error != "no error") std::fprintf(stderr, "rank %d: %s\n", rank, error.c_str());
      std::fflush(nullptr);
      _exit(error == "no error" && !::testing::Test::HasFailure() ? 0 : 1);
    }
    pids.push_back(pid);
  }
  const auto store = make_intrusive<TCPStore>("127.0.0.1", o);
  const uint16_t port = store->getPort();
  for (int rank = 0; rank < size; rank++) EXPECT_EQ(write(pipes[1], &port, sizeof port), static_cast<ssize_t>(sizeof port));
  std::vector<int> codes;
  for (const pid_t pid : pids) {
    int status = 0;
    waitpid(pid, &status, 0);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  }
  close(pipes[0]);
  close(pipes[1]);
  return codes;
}
RpcOptions options(int rank, int size, const intrusive_ptr<Store>& store) {
  RpcOptions o;
  o.store = store;
  o.rank = rank;
  o.world_size = size;
  return o;
}
std::string name_of(int rank) { return str("worker", rank); }

TEST(Rpc, FunctionsByName) {
  const auto codes = in_processes(2, [](int rank, const auto& store) {
    register_function("add", [](const Tensor& a, const Tensor& b) { return a + b; });
    register_function("describe", [rank](const std::string& text, int64_t n) { return str(text, n, " on ", rank); });
    register_function("nothing", [] {});
    register_function("fails", [](int64_t n) -> int64_t { throw ValueError(str("no luck with ", n)); });
    init_rpc(name_of(rank), options(rank, 2, store));
    const std::string other = name_of(1 - rank);
    EXPECT_TRUE(equal(rpc_sync(other, "add", {Value(ones({3})), Value(ones({3}))}).toTensor(), full({3}, 2.f)));
    EXPECT_EQ(rpc_sync(name_of(rank), "describe", {Value("n = "), Value(3)}).to_string(), str("n = 3 on ", rank));
    EXPECT_TRUE(rpc_sync(other, "nothing").is_none());
    std::vector<FuturePtr> many;
    for (int i = 0; i < 100; i++) many.push_back(rpc_async(other, "describe", {Value("i"), Value(i)}));
    for (int i = 0; i < 100; i++) EXPECT_EQ(many[static_cast<size_t>(i)]->wait().to_string(), str("i", i, " on ", 1 - rank));
    const std::string error = error_of([&] { rpc_sync(other, "fails", {Value(5)}); });
    EXPECT_NE(error.find("no luck with 5"), std::string::npos) << error;
    EXPECT_NE(error.find(other), std::string::npos) << error;
    EXPECT_THROW(rpc_sync(other, "fails", {Value(5)}), ValueError);
    EXPECT_NE(error_of([&] { rpc_sync(other, "missing"); }).find("no function is registered as '@missing'"), std::string::npos);
    EXPECT_NE(error_of([&] { rpc_sync(other, "fails"); }).find("expected 1 arguments, got 0"), std::string::npos);
    EXPECT_NE(error_of([&] { rpc_sync("nobody", "fails"); }).find("no worker is 'nobody'"), std::string::npos);
    shutdown();
  });
  EXPECT_EQ(codes, (std::vector<int>{0, 0}));
}

TEST(Rpc, AFunctionMayCallBack) {
  const auto codes = in_processes(2, [](int rank, const auto& store) {
    const std::string other = name_of(1 - rank);
    register_function("countdown", [other](int64_t n) -> int64_t { return n == 0 ? 0 : 1 + rpc_sync(other, "countdown", {Value(n - 1)}).toInt(); });
    register_function("later", [other](int64_t n) { return rpc_async(other, "countdown", {Value(n)}); });
    init_rpc(name_of(rank), options(rank, 2, store));
    EXPECT_EQ(rpc_sync(other, "countdown", {Value(30)}).toInt(), 30);
    EXPECT_EQ(rpc_sync(other, "later", {Value(4)}).toInt(), 4);
    shutdown();
  });
  EXPECT_EQ(codes, (std::vector<int>{0, 0}));
}

std::atomic<int> living{0};
struct Counted final : dispatch::Object {
  Counted() : Object() { living++; }
  ~Counted() override { living--; }
  const char* kind_name() const override { return "counted"; }
};

TEST(Rpc, ReferencesEndWithTheirLastHolder) {
  const auto codes = in_processes(3, [](int rank, const auto& store) {
    register_function("make", [] { return Value(intrusive_ptr<dispatch::Object>(make_intrusive<Counted>())); });
    register_function("living", [] { return static_cast<int64_t>(living); });
    register_function("same", [](const Value& r) { return r; });
    register_function("total", [](const Value& r) { return RRef::of(r).to_here().toTensor().sum().item<double>(); });
    init_rpc(name_of(rank), options(rank, 3, store));
    if (rank == 0) {
      {
        const RRef far = remote("worker1", "make");
        EXPECT_EQ(far.owner().name_, "worker1");
        EXPECT_FALSE(far.is_owner());
        const RRef back = RRef::of(rpc_sync("worker2", "same", {far}));
        EXPECT_EQ(rpc_sync("worker1", "living").toInt(), 1);
        EXPECT_NE(error_of([&] { far.local_value(); }).find("the value is on worker1"), std::string::npos);
      }
      for (int i = 0; i < 200 && rpc_sync("worker1", "living").toInt() != 0; i++) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      EXPECT_EQ(rpc_sync("worker1", "living").toInt(), 0);
      const RRef own(Value(full({4}, 2.f)));
      EXPECT_EQ(rpc_sync("worker2", "total", {own}).toDouble(), 8);
      EXPECT_EQ(own.local_value().toTensor().numel(), 4);
    }
    shutdown();
  });
  EXPECT_EQ(codes, (std::vector<int>{0, 0, 0}));
}

// Worker 2 holds the only reference and is killed; worker 1, the owner, lets the value go.
TEST(Rpc, ReferencesOfAWorkerThatDiedEnd) {
  const auto codes = in_processes(3, [](int rank, const auto& store) {
    register_function("make", [] { return Value(intrusive_ptr<dispatch::Object>(make_intrusive<Counted>())); });
    register_function("living", [] { return static_cast<int64_t>(living); });
    static std::vector<RRef> held;
    register_function("hold", [] {
      held.push_back(remote("worker1", "make"));
      rpc_sync("worker1", "living");
      return static_cast<int64_t>(getpid());
    });
    init_rpc(name_of(rank), options(rank, 3, store));
    if (rank == 0) {
      const int64_t pid = rpc_sync("worker2", "hold").toInt();
      EXPECT_EQ(rpc_sync("worker1", "living").toInt(), 1);
      const FuturePtr open = rpc_async("worker2", "living");
      kill(static_cast<pid_t>(pid), SIGKILL);
      for (int i = 0; i < 500 && rpc_sync("worker1", "living").toInt() != 0; i++) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      EXPECT_EQ(rpc_sync("worker1", "living").toInt(), 0);
      EXPECT_THROW(rpc_sync("worker2", "living"), DistError);
      store->set("done", std::string("1"));
    }
    store->wait({"done"}, std::chrono::seconds(30));
    shutdown(false);
  });
  EXPECT_EQ(codes, (std::vector<int>{0, 0, -SIGKILL}));
}

// x is worker 0's; worker 1 multiplies it by its own w and asks worker 2 for a square: loss = sum((x w)^2) + sum(x).
TEST(Rpc, GradientsGoThroughAllWorkersOfAPass) {
  const auto codes = in_processes(3, [](int rank, const auto& store) {
    static const Tensor w = full({3}, 2.0).set_requires_grad(true);
    register_function("square", [](const Tensor& t) { return t * t; });
    register_function("scaled", [](const Tensor& x) { return rpc_sync("worker2", "square", {Value(x * w)}).toTensor(); });
    register_function("of_w", [](int64_t pass) { return autograd::get_gradient(pass, w); });
    register_function("open", [](int64_t pass) { return static_cast<int64_t>(autograd::get_gradients(pass).size()); });
    register_function("make", [](const Tensor& x) { return x * w; });
    EXPECT_NE(error_of([] { autograd::Context outside; }).find("call init_rpc first"), std::string::npos);
    init_rpc(name_of(rank), options(rank, 3, store));
    if (rank == 0) {
      const Tensor x = arange(3).to(kDouble).set_requires_grad(true);
      int64_t number = 0;
      for (int turn = 0; turn < 2; turn++) {
        autograd::Context pass;
        number = pass.id();
        EXPECT_NE(error_of([] { autograd::Context second; }).find("in a context already"), std::string::npos);
        const Tensor squares = rpc_sync("worker1", "scaled", {Value(x)}).toTensor();
        EXPECT_TRUE(squares.requires_grad());
        autograd::backward(pass.id(), {squares.sum() + x.sum()});
        EXPECT_TRUE(equal(autograd::get_gradient(pass.id(), x), x.detach() * 8 + 1));
        EXPECT_TRUE(equal(rpc_sync("worker1", "of_w", {Value(pass.id())}).toTensor(), x.detach() * x.detach() * 4));
        EXPECT_EQ(autograd::get_gradients(pass.id()).size(), 1u);
        EXPECT_FALSE(x.grad().defined());
        EXPECT_NE(error_of([&] { autograd::backward(pass.id(), {squares}); }).find("scalars as roots, got shape [3]"), std::string::npos);
        EXPECT_NE(error_of([&] { autograd::backward(pass.id(), {}); }).find("expected roots, got none"), std::string::npos);
        EXPECT_NE(error_of([&] { autograd::backward(pass.id(), {ones({})}); }).find("roots that need gradients"), std::string::npos);
      }
      EXPECT_NE(error_of([&] { autograd::get_gradients(number); }).find("there is no context"), std::string::npos);
      std::string error = "no error";
      for (int i = 0; i < 500 && error == "no error"; i++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        error = error_of([&] { rpc_sync("worker1", "open", {Value(number)}); });
      }
      EXPECT_NE(error.find("there is no context"), std::string::npos);
      {
        autograd::Context pass;  // a value that is fetched by its reference, and one of this worker itself
        const RRef far = remote("worker1", "make", {Value(x)});
        const Tensor own = rpc_sync("worker0", "square", {Value(x)}).toTensor();
        autograd::backward(pass.id(), {far.to_here().toTensor().sum() + own.sum()});
        EXPECT_TRUE(equal(autograd::get_gradient(pass.id(), x), x.detach() * 2 + 2));
        EXPECT_FALSE(autograd::get_gradient(pass.id(), ones({1})).defined());
      }
    }
    shutdown();
  });
  EXPECT_EQ(codes, (std::vector<int>{0, 0, 0}));
}

// The weight is worker 1's, the bias worker 0's, which trains.
TEST(Rpc, ParametersOfSeveralWorkersAreSteppedWhereTheyAre) {
  const auto codes = in_processes(2, [](int rank, const auto& store) {
    static Tensor weight = full({2}, 3.0).set_requires_grad(true);
    register_function("weight", [] { return Value(RRef(Value(weight))); });
    register_function("scaled", [](const Tensor& x) { return x * weight; });
    register_function("now", [] { return weight.detach().clone(); });
    register_function("grad_is_there", [] { return weight.grad().defined(); });
    register_optimizer("sgd", [](std::vector<Tensor> p) { return std::make_unique<optim::SGD>(std::move(p), optim::SGDOptions(0.5)); });
    if (rank == 0) register_optimizer("zero's", [](std::vector<Tensor> p) { return std::make_unique<optim::SGD>(std::move(p), optim::SGDOptions(1)); });
    init_rpc(name_of(rank), options(rank, 2, store));
    if (rank == 0) {
      Tensor bias = zeros({2}, kDouble).set_requires_grad(true);
      bias.mutable_grad() = ones({2}, kDouble);  // stays
      const RRef far = RRef::of(rpc_sync("worker1", "weight")), near{Value(bias)};
      DistributedOptimizer optimizer("sgd", {far, near});
      const Tensor x = arange(2).to(kDouble) + 1;
      for (int i = 1; i <= 2; i++) {
        autograd::Context pass;
        autograd::backward(pass.id(), {(rpc_sync("worker1", "scaled", {Value(x)}).toTensor() + bias).sum()});
        optimizer.step(pass.id());
        EXPECT_TRUE(equal(rpc_sync("worker1", "now").toTensor(), 3 - x * (0.5 * i)));
        EXPECT_TRUE(equal(bias.detach(), full({2}, -0.5 * i)));
      }
      EXPECT_TRUE(equal(bias.grad(), ones({2}, kDouble)));
      EXPECT_FALSE(rpc_sync("worker1", "grad_is_there").toBool());
      EXPECT_NE(error_of([&] { DistributedOptimizer("sgd", {}); }).find("references to parameters, got none"), std::string::npos);
      const std::string error = error_of([&] { DistributedOptimizer("zero's", {far}); });
      EXPECT_NE(error.find("no optimizer is registered as 'zero's'"), std::string::npos) << error;
      EXPECT_NE(error.find("worker1"), std::string::npos) << error;
      EXPECT_NE(error_of([&] { optimizer.step(99); }).find("there is no context"), std::string::npos);
    }
    shutdown();
  });
  EXPECT_EQ(codes, (std::vector<int>{0, 0}));
}

// Noise of every length at a worker's port, before and after it has shown the secret, and half messages.
TEST(Rpc, GarbageOnThePortHarmsNobody) {
  const auto codes = in_processes(2, [](int rank, const auto& store) {
    register_function("id", [](int64_t n) { return n; });
    init_rpc(name_of(rank), options(rank, 2, store));
    if (rank == 0) {
      std::istringstream place(store->get_to_str("rpc_prefix_0/rpc/1"));
      std::string name, host;
      uint16_t port = 0;
      place >> name >> host >> port;
      uint32_t state = 7;
      auto random = [&] { return state = state * 1664525u + 1013904223u; };
      const std::string half = frame_head(1, 1 << 20) + "the rest does not come";
      for (int i = 0; i < 100; i++) {
        const Socket s = Socket::connect(host, port, after(std::chrono::seconds(10)));
        std::string noise(random() % 300, '\0');
        for (char& c : noise) c = static_cast<char>(random() >> 16);
        if (i % 3 == 0) authenticate_as_client(s, job_secret(), "rpc", after(std::chrono::seconds(10)));
        if (i % 6 == 0) noise = half.substr(0, static_cast<size_t>(i) % half.size());
        try {
          s.send(noise.data(), noise.size(), after(std::chrono::seconds(1)));
        } catch (const DistNetworkError&) {}  // it has hung up already
      }
      EXPECT_EQ(rpc_sync("worker1", "id", {Value(4)}).toInt(), 4);
    }
    shutdown();
  });
  EXPECT_EQ(codes, (std::vector<int>{0, 0}));
}

TEST(Rpc, ALateOrStrangeWorkerIsNamed) {
  const auto codes = in_processes(2, [](int rank, const auto& store) {
    register_function("sleep", [] { std::this_thread::sleep_for(std::chrono::seconds(2)); });
    register_function("id", [](int64_t n) { return n; });
    EXPECT_NE(error_of([] { rpc_sync("worker0", "id"); }).find("call init_rpc first"), std::string::npos);
    init_rpc(name_of(rank), options(rank, 2, store));
    EXPECT_NE(error_of([&] { init_rpc("again", options(rank, 2, store)); }).find("a worker already"), std::string::npos);
    if (rank == 0) {
      const auto before = std::chrono::steady_clock::now();
      const std::string error = error_of([&] { rpc_sync("worker1", "sleep", {}, std::chrono::milliseconds(200)); });
      EXPECT_EQ(error, "rpc: WorkerInfo(id=1, name=worker1) has not answered within the timeout of 0.2 s");
      EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(1900));
      EXPECT_EQ(rpc_sync("worker1", "id", {Value(4)}).toInt(), 4);
    }
    shutdown();
  });
  EXPECT_EQ(codes, (std::vector<int>{0, 0}));
}

}  // namespace
}  // namespace cresset::distributed::rpc
