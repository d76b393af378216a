// Checkpoints from C++: what PyTorch, LibTorch and our Python front end wrote, round trips, and archives that lie.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "cresset/cresset.h"
#include "cresset/io/checkpoint.h"

namespace {

using namespace cresset;

template <class F> std::string message_of(F f) {
  try {
    f();
  } catch (const cresset::Error& e) { return e.what(); }
  return "no error";
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string kData = CRESSET_TEST_DATA;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The module that write.cpp trains with LibTorch.
struct NetImpl : nn::Module {
  NetImpl() {
    fc = register_module("fc", nn::Linear(2, 3));
    bn = register_module("bn", nn::BatchNorm1d(3));
    seq = register_module("seq", nn::Sequential(nn::Linear(1, 1), nn::ReLU()));
    w = register_parameter("w", cresset::zeros({4}));
    count = register_buffer("count", cresset::tensor(0));
  }
  nn::Linear fc{nullptr};
  nn::BatchNorm1d bn{nullptr};
  nn::Sequential seq;
  Tensor w, count;
};
CRESSET_MODULE(Net);

void take_steps(Net& net, optim::Optimizer& optimizer, int steps) {
  for (int i = 0; i < steps; i++) {
    optimizer.zero_grad();
    (net->fc(cresset::ones({1, 2})).pow(2).sum() + net->w.pow(2).sum()).backward();
    optimizer.step();
  }
}

TEST(LibTorch, Tensors) {
  Tensor t;
  load(t, kData + "libtorch_tensor.pt");
  EXPECT_TRUE(equal(t, cresset::arange(6, kFloat).view({2, 3}).t()));
  EXPECT_EQ(t.strides(), IntArrayRef({1, 3}));
  std::vector<Tensor> list;
  load(list, kData + "libtorch_vector.pt");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_TRUE(equal(list[0], cresset::ones({2})));
  EXPECT_EQ(list[1].scalar_type(), kLong);
}

TEST(LibTorch, ModulesAndOptimizers) {
  Net net;
  load(net, kData + "libtorch_module.pt");
  EXPECT_TRUE(equal(net->w, cresset::arange(4, kFloat)));
  EXPECT_EQ(net->count.item<int64_t>(), 7);
  optim::Adam adam(net->parameters(), optim::AdamOptions(1));
  load(adam, kData + "libtorch_adam.pt");
  const auto& options = static_cast<const optim::AdamOptions&>(adam.param_groups()[0].options());
  EXPECT_EQ(options.lr(), 0.01);
  EXPECT_EQ(std::get<1>(options.betas()), 0.999);
  EXPECT_TRUE(options.amsgrad());
  // The gradients were ones for w, the first parameter: after two steps the mean is 1 - 0.9^2.
  const auto& state = static_cast<const optim::AdamParamState&>(*adam.state().at(net->w.unsafeGetTensorImpl()));
  EXPECT_EQ(state.step(), 2);
  EXPECT_TRUE(allclose(state.exp_avg(), cresset::full({4}, 0.19)));
  EXPECT_EQ(adam.state().size(), 3u);
  optim::SGD sgd(net->parameters(), optim::SGDOptions(1));
  load(sgd, kData + "libtorch_sgd.pt");
  EXPECT_EQ(static_cast<const optim::SGDOptions&>(sgd.param_groups()[0].options()).momentum(), 0.9);
  EXPECT_EQ(sgd.state().size(), 3u);
}

TEST(LibTorch, Archives) {
  serialize::InputArchive in, inner;
  in.load_from(kData + "libtorch_archive.pt");
  Tensor x, y;
  serialize::ArchiveValue n, s, l;
  in.read("x", x);
  in.read("n", n);
  in.read("s", s);
  in.read("l", l);
  in.read("in", inner);
  inner.read("y", y);
  EXPECT_TRUE(equal(x, cresset::ones({1})));
  EXPECT_EQ(n.to_int(), 3);
  EXPECT_EQ(s.to_string(), "text");
  EXPECT_EQ(l.to_double_list(), (std::vector<double>{1, 2.5}));
  EXPECT_TRUE(equal(y, cresset::zeros({2})));
  OrderedDict<std::string, Tensor> dict("Tensor");
  load(dict, kData + "libtorch_pickle_dict.pt");
  EXPECT_TRUE(equal(dict["a"], cresset::ones({2})));
  in.load_from(kData + "libtorch_pickle_tuple.pt");
  in.read("1", n);
  EXPECT_EQ(n.to_double(), 1.5);
}

TEST(Python, StateDicts) {
  serialize::InputArchive file, part;
  file.load_from(kData + "training.pt");
  nn::Sequential model(nn::Linear(3, 2), nn::BatchNorm1d(2));
  file.read("model", part);
  model->load(part);
  EXPECT_EQ(model->named_buffers()["1.num_batches_tracked"].item<int64_t>(), 2);
  optim::Adam adam({optim::OptimizerParamGroup(model->ptr(0)->parameters()), optim::OptimizerParamGroup(model->ptr(1)->parameters())}, optim::AdamOptions(1));
  Tensor state;
  EXPECT_TRUE(file.try_read("optimizer.state.0.exp_avg", state));
  EXPECT_EQ(state.sizes(), IntArrayRef({2, 3}));
  OrderedDict<std::string, Tensor> legacy("Tensor");
  load(legacy, kData + "legacy.pt");
  EXPECT_TRUE(equal(legacy["a"], cresset::tensor({1.f, 2.f})));
  EXPECT_TRUE(legacy["a"].storage().is_alias_of(legacy["b"].storage()));
}

TEST(Checkpoint, RoundTripsInEveryDtype) {
  OrderedDict<std::string, Tensor> tensors("Tensor");
  for (ScalarType t : {kBool, kByte, kChar, kShort, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble, kComplexFloat, kComplexDouble, kUInt16, kUInt32, kUInt64})
    tensors.insert(toString(t), cresset::arange(6, kFloat).to(t).view({2, 3}).t());
  std::stringstream file;
  save(tensors, file);
  OrderedDict<std::string, Tensor> back("Tensor");
  load(back, file);
  ASSERT_EQ(back.size(), tensors.size());
  for (const auto& item : tensors) {
    EXPECT_EQ(back[item.key()].scalar_type(), item.value().scalar_type());
    EXPECT_EQ(back[item.key()].strides(), item.value().strides());
    EXPECT_TRUE(equal(back[item.key()], item.value())) << item.key();
  }
}

TEST(Checkpoint, KeepsWhatIsShared) {
  const Tensor base = cresset::arange(10'000, kFloat);
  std::stringstream file;
  save(std::vector<Tensor>{base, base.slice(0, 5), base.view({100, 100})}, file);
  EXPECT_LT(file.str().size(), 45'000u);
  std::vector<Tensor> back;
  load(back, file);
  back[0][5].fill_(-1);
  EXPECT_EQ(back[1][0].item<float>(), -1);
  EXPECT_EQ(back[2][0][5].item<float>(), -1);
}

TEST(Checkpoint, ListsOfAnyLength) {
  for (size_t n : {0, 1, 12}) {
    std::stringstream file;
    save(std::vector<Tensor>(n, cresset::ones({2})), file);
    std::vector<Tensor> back(3);
    load(back, file);
    EXPECT_EQ(back.size(), n);
  }
}

TEST(Checkpoint, OptimizersGoOn) {
  manual_seed(1);
  Net net, other;
  optim::AdamW first(net->parameters(), optim::AdamWOptions(0.1).betas({0.8, 0.99}));
  take_steps(net, first, 3);
  std::stringstream model, state;
  save(net, model);
  save(first, state);
  load(other, model);
  optim::AdamW second(other->parameters(), optim::AdamWOptions(5));
  load(second, state);
  EXPECT_EQ(std::get<0>(static_cast<const optim::AdamWOptions&>(second.param_groups()[0].options()).betas()), 0.8);
  take_steps(net, first, 2);
  take_steps(other, second, 2);
  EXPECT_TRUE(equal(net->fc->weight, other->fc->weight));
}

// The vector problem of write.py.
struct Curve {
  explicit Curve(std::vector<double> start) : w(cresset::tensor(start, kDouble).requires_grad_()), optimizer({w}, optim::LBFGSOptions(0.3)) {}
  void step(int steps) {
    const Tensor scale = cresset::tensor({1.0, 10.0, 0.3}, kDouble);
    for (int i = 0; i < steps; i++)
      optimizer.step([&] {
        optimizer.zero_grad();
        const Tensor loss = (scale * (w - 1).pow(2)).sum() + w.pow(4).sum();
        loss.backward();
        return loss;
      });
  }
  Tensor w;
  optim::LBFGS optimizer;
};
const std::vector<double> kCurveBefore = {2.8554014100253533, -3.7151450056090387, 0.49953886971851075};
const Tensor curve_after() { return cresset::tensor({2.6696383358147, -3.403691963738341, 0.4982508173117319}, kDouble); }

TEST(Checkpoint, LbfgsOfPythonGoesOn) {
  Curve curve(kCurveBefore);
  load(curve.optimizer, kData + "lbfgs.pt");
  curve.step(2);
  EXPECT_TRUE(allclose(curve.w, curve_after(), 1e-12, 1e-12)) << curve.w;
}

TEST(Checkpoint, LbfgsIsWrittenAsPythonDoes) {
  Curve first(kCurveBefore), second(kCurveBefore);
  load(first.optimizer, kData + "lbfgs.pt");
  std::stringstream file;
  save(first.optimizer, file);
  const std::string bytes = file.str();
  const io::Checkpoint checkpoint(std::make_shared<io::MemorySource>(bytes.data(), bytes.size()), {});
  const io::Document& d = checkpoint.document();
  auto child = [&](io::NodeId dict, const std::string& name) {
    const auto& items = d.children(dict);
    for (size_t i = 0; i < items.size(); i += 2)
      if (d[items[i]].text == name || (d[items[i]].kind == io::Kind::Int && std::to_string(d[items[i]].integer) == name)) return items[i + 1];
    ADD_FAILURE() << "no " << name;
    return dict;
  };
  const io::NodeId state = child(child(checkpoint.root(), "state"), "0"), group = d.children(child(checkpoint.root(), "param_groups"))[0];
  for (const char* name : {"old_dirs", "old_stps", "ro"}) {
    EXPECT_EQ(d[child(state, name)].kind, io::Kind::List) << name;
    EXPECT_EQ(d.children(child(state, name)).size(), 3u) << name;
  }
  EXPECT_EQ(d[child(state, "t")].real, 0.05);
  EXPECT_EQ(d[child(group, "max_eval")].integer, 3);
  EXPECT_EQ(d[child(group, "line_search_fn")].kind, io::Kind::None);
  load(second.optimizer, file);
  first.step(2);
  second.step(2);
  EXPECT_TRUE(equal(first.w, second.w));
  EXPECT_TRUE(allclose(first.w, curve_after(), 1e-12, 1e-12)) << first.w;
}

TEST(Checkpoint, ReadsNoFileThatIsNone) {
  Tensor t;
  for (const std::string& bytes : {std::string(), std::string("text"), std::string(200, 'x'), std::string("PK\3\4") + std::string(60, 0)}) {
    std::stringstream file(bytes);
    EXPECT_THROW(load(t, file), cresset::Error) << bytes.size();
  }
  EXPECT_TRUE(contains(message_of([&] { load(t, "/nowhere/a.pt"); }), "/nowhere/a.pt"));
}

// Every cut and many flipped bits are read or refused with an Error, also under sanitizers.
TEST(Checkpoint, SurvivesDamage) {
  uint32_t random = 1;
  auto next = [&](size_t n) { return (random = random * 1664525u + 1013904223u, (random >> 8) % n); };
  for (const char* name : {"module.pt", "training.pt", "legacy.pt", "libtorch_adam.pt", "libtorch_pickle_tuple.pt"}) {
    const std::string bytes = bytes_of(kData + name);
    ASSERT_FALSE(bytes.empty());
    auto read = [](const std::string& content) {
      try {
        serialize::InputArchive archive;
        archive.load_from(content.data(), content.size());
        return true;
      } catch (const cresset::Error&) { return false; }
    };
    EXPECT_EQ(read(bytes), std::string(name) != "module.pt") << name;
    for (size_t n = 0; n < bytes.size(); n += 1 + bytes.size() / 200) EXPECT_FALSE(read(bytes.substr(0, n))) << name << n;
    for (int i = 0; i < 2000; i++) {
      std::string damaged = bytes;
      for (size_t k = 1 + next(3); k-- > 0;) damaged[next(damaged.size())] ^= static_cast<char>(1 << next(8));
      read(damaged);
    }
  }
}

// The pickle alone, where no checksum comes before it.
TEST(Unpickle, SurvivesNoise) {
  uint32_t random = 7;
  auto next = [&](size_t n) { return (random = random * 1664525u + 1013904223u, (random >> 8) % n); };
  io::Pickler p;
  p.op(']');
  p.mark();
  p.integer(-70'000);
  p.integer(int64_t{1} << 40);
  p.text("text");
  p.bytes("\xff\x01");
  p.complex(1, 2);
  p.integers(std::vector<int64_t>{1, 2, 3, 4, 5}.data(), 5);
  p.storage("0", kFloat, 40, "cpu");
  p.op('e');
  const std::string good = p.finish();
  for (int i = 0; i < 20'000; i++) {
    std::string damaged = good;
    for (size_t k = 1 + next(4); k-- > 0;) damaged[next(damaged.size())] = static_cast<char>(next(3) ? next(256) : "0(.tRbQ2esuahjq)]}"[next(18)]);
    io::Document document;
    std::string_view rest = damaged;
    io::UnpickleOptions options;
    options.any = i % 2 == 0;
    try {
      io::unpickle(document, rest, options);
    } catch (const io::UnpicklingError&) {}
  }
}

TEST(Unpickle, NamesWhatItRefuses) {
  io::Document document;
  std::string_view pickle =
      "\x80\x02"
      "cos\nsystem\nX\x02\x00\x00\x00ls\x85R.";
  EXPECT_TRUE(contains(message_of([&] { io::unpickle(document, pickle, {}); }), "`os.system`"));
}

// A list that holds itself has no end of names.
TEST(Checkpoint, RefusesArchivesThatContainThemselves) {
  serialize::InputArchive archive;
  EXPECT_TRUE(contains(message_of([&] { archive.load_from(kData + "everything.pt"); }), "contains itself"));
}

// Small limits stand for files of more than 4 GB.
TEST(Zip, LargeSizesGoIntoTheWiderFields) {
  std::string bytes;
  io::ZipWriter zip([&](const void* data, size_t size) { bytes.append(static_cast<const char*>(data), size); }, "f", 100);
  const std::string large(1000, 'x');
  zip.add("small", "abc");
  zip.add("large", large);
  zip.add("last", "de");
  zip.finish();
  const io::MemorySource source(bytes.data(), bytes.size());
  const io::ZipReader reader(source, "f");
  ASSERT_EQ(reader.entries().size(), 3u);
  EXPECT_EQ(reader.read(*reader.find("small")), "abc");
  EXPECT_EQ(reader.read(*reader.find("large")), large);
  EXPECT_EQ(reader.read(*reader.find("last")), "de");
  for (const auto& entry : reader.entries()) EXPECT_EQ(entry.data_offset % 64, 0u);
}

}  // namespace
