// .pt2 files that PyTorch 2.13 wrote (data/write.py), and damaged ones.

#include "cresset/graph/io/pt2.h"
#include "cresset/base/warning.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "cresset/autograd/forward/forward_mode.h"
#include "cresset/dispatch/registration.h"
#include "cresset/dispatch/values/list.h"
#include "cresset/graph/io/open.h"
#include "cresset/io/safetensors.h"
#include "cresset/io/zip.h"
#include "cresset/ops/functions.h"
#include "cresset/transform/autocast.h"
#include "cresset/transform/vmap.h"
#include "tests/error_of.h"

namespace cresset::graph {
namespace {

std::string path_of(const std::string& name) { return std::string(CRESSET_GRAPH_DATA) + name; }
std::string bytes_of(const std::string& name) {
  std::ifstream in(path_of(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
std::map<std::string, Tensor> tensors_of(const std::string& name) {
  std::map<std::string, Tensor> out;
  for (const auto& item : io::load_safetensors(path_of(name + ".safetensors")).tensors) out[item.key()] = item.value();
  return out;
}

// Runs a model on the inputs beside it, and compares what comes out and what becomes of the inputs.
void check_model(const std::string& name, double tolerance = 0) {
  const ExportedProgram program = load_program(path_of(name + ".pt2"));
  auto saved = tensors_of(name);
  std::vector<Datum> inputs;
  for (size_t i = 0; i < program.inputs().size(); i++) inputs.emplace_back(saved.at("input" + std::to_string(i)).clone());
  const std::vector<Datum> out = program.run(inputs);
  const auto compare = [&](const Tensor& t, const std::string& key) {
    const Tensor& expected = saved.at(key);
    ASSERT_EQ(t.sizes(), expected.sizes()) << key;
    ASSERT_EQ(t.scalar_type(), expected.scalar_type()) << key;
    if (tolerance == 0) EXPECT_TRUE(equal(t, expected)) << key;
    else EXPECT_TRUE(allclose(t, expected, tolerance, tolerance)) << key;
  };
  size_t compared = 0;
  for (size_t i = 0; i < out.size(); i++)
    if (out[i].is_tensor() && saved.count("output" + std::to_string(i))) compare(out[i].to_tensor(), "output" + std::to_string(i)), compared++;
  EXPECT_GT(compared, 0u);
  for (size_t i = 0; i < inputs.size(); i++) compare(inputs[i].to_tensor(), "after" + std::to_string(i));
}

TEST(Pt2, LayersWithADynamicBatch) {
  check_model("layers", 1e-6);
  const ExportedProgram program = load_program(path_of("layers.pt2"));
  const auto out = program.run({ones({7, 4})});
  ASSERT_EQ(out.size(), 6u);
  EXPECT_EQ(out[3].to_int(), 14);
  EXPECT_EQ(out[4].to_string(), "text");
  EXPECT_TRUE(out[5].is_none());
  EXPECT_EQ(program.version().substr(0, 4), "2.13");
  EXPECT_EQ(program.inputs()[0].name, "x");
  EXPECT_NE(program.output_tree().find("builtins.dict"), std::string::npos);
  EXPECT_EQ(program.state().at("linear.weight").sizes(), IntArrayRef({3, 4}));
}
TEST(Pt2, BranchesMutationAndSharedWeights) {
  check_model("control", 1e-6);
  const ExportedProgram program = load_program(path_of("control.pt2"));
  EXPECT_EQ(program.state().at("w").data_ptr(), program.state().at("again").data_ptr());
  program.run({ones({3, 3}), ones({2})});
  program.run({ones({3, 3}), ones({2})});
  EXPECT_TRUE(equal(program.state().at("count"), full({3}, 2.0)));  // the buffer is the program's
}
TEST(Pt2, ConvolutionsAndPooling) { check_model("conv", 1e-5); }
TEST(Pt2, ABlockOfALanguageModelAtAnotherBatchAndLength) { check_model("block", 1e-5); }
TEST(Pt2, FunctionalGraphsWriteBack) {
  check_model("counter");
  const ExportedProgram program = load_program(path_of("counter.pt2"));
  program.run({ones({2})});
  EXPECT_TRUE(equal(program.state().at("total"), ones({2})));
}
TEST(Pt2, LoopsRunAsOftenAsTheirData) { check_model("while"); }
TEST(Pt2, CoreOperatorsInTheirInternalForms) { check_model("core", 1e-6); }
TEST(Pt2, OperatorsThatAreGraphsOverRows) { check_model("forms", 1e-5); }
TEST(Pt2, OperatorsOfDecompositions) { check_model("internals", 1e-4); }
TEST(Pt2, RegionsOfMixedPrecisionAndChoicesByTheData) {
  check_model("regions", 1e-5);
  EXPECT_FALSE(amp::is_autocast_enabled(kCPU));
}
TEST(Pt2, LevelsOfVmapAndForwardMode) {
  const bool before = autograd::is_forward_mode_enabled();
  check_model("transforms", 1e-5);
  EXPECT_EQ(func::current_vmap(), nullptr);
  EXPECT_EQ(autograd::is_forward_mode_enabled(), before);
}
TEST(Pt2, LevelsThatAFailedRunLeavesOpenAreClosed) {
  const ExportedProgram program = load_program(path_of("transforms.pt2"));
  auto graph = std::shared_ptr<Graph>(program.graph().clone());
  for (Node* n = graph->block().first(); n; n = n->next())
    if (n->op_name() == "add.Tensor" || n->op_name() == "add.Scalar") {
      graph->create("ir::check", {graph->constant(false)}, n);
      break;
    }
  const ExportedProgram failing = program.with_graph(graph);
  EXPECT_THROW(failing.run({ones({4, 3}), ones({2, 2, 3})}), Error);
  EXPECT_EQ(func::current_vmap(), nullptr);
  EXPECT_EQ(program.run({ones({4, 3}), ones({2, 2, 3})}).size(), 4U);
}
TEST(Pt2, ModulesNamedByNumbersWriteTheirStatistics) {
  manual_seed(2);
  check_model("numbered", 1e-5);
  const ExportedProgram program = load_program(path_of("numbered.pt2"));
  program.run({ones({5, 4})});
  EXPECT_TRUE(equal(program.state().at("layers.1.num_batches_tracked"), full({}, 1, kLong)));
}
TEST(Pt2, AttentionGivesItsResultInTheMemoryOrderOfTheQuery) { check_model("attention", 1e-6); }
TEST(Pt2, TheGraphIsTextThatReadsBack) {
  for (const char* name : {"layers", "control", "conv", "block", "counter", "while", "forms", "attention", "regions", "transforms", "numbered"}) {
    const std::string text = load_program(path_of(std::string(name) + ".pt2")).graph().text();
    EXPECT_EQ(parse_graph(text)->text(), text) << name;
  }
}
TEST(Pt2, NodesKnowTheirLines) {
  const std::string text = load_program(path_of("layers.pt2")).graph().text();
  EXPECT_NE(text.find("in \"forward\""), std::string::npos);
  EXPECT_NE(text.find("write.py"), std::string::npos);
}

TEST(Pt2, CallsThatStandInOrderByTokens) {
  ::testing::internal::CaptureStdout();
  check_model("printing", 1e-6);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "before\nafter\n");
}
TEST(Pt2, AModelOfSeveralByItsName) {
  EXPECT_EQ(models_of(path_of("several.pt2")), (std::vector<std::string>{"encode", "decode/back"}));
  LoadOptions options;
  options.model = "encode";
  EXPECT_TRUE(equal(load_program(path_of("several.pt2"), options).run({ones({1, 2})})[0].to_tensor(), tensor({3.0F, 5.0F, 7.0F}).view({1, 3})));
  options.model = "decode/back";
  EXPECT_TRUE(equal(load_program(path_of("several.pt2"), options).run({ones({1, 3})})[0].to_tensor(), tensor({3.0F, 12.0F}).view({1, 2})));
}
TEST(Pt2, AModelThatIsNotThereOrNotToldIsAnErrorThatNamesTheOthers) {
  const std::string file = "load_program: '" + path_of("several.pt2") + "': ";
  EXPECT_EQ(error_of([] { load_program(path_of("several.pt2")); }),
            file + "the archive has the models 'encode', 'decode/back'; expected the name of one of them");
  LoadOptions options;
  options.model = "code";
  EXPECT_EQ(error_of([&] { load_program(path_of("several.pt2"), options); }), file + "the archive has no model 'code', it has 'encode', 'decode/back'");
  EXPECT_EQ(models_of(path_of("layers.pt2")), std::vector<std::string>{"model"});
}
TEST(Pt2, AnArchiveOfSeveralIsAGraphForEach) {
  const Module m = open_module(path_of("several.pt2"));
  ASSERT_EQ(m.graphs.size(), 2u);
  EXPECT_EQ(m.graphs[0]->name(), "encode");
  EXPECT_EQ(m.graphs[1]->name(), "decode_back");
  EXPECT_EQ(parse_module(m.text()).text(), m.text());
}

TEST(Pt2, InputsThatDoNotFitAreNamed) {
  const ExportedProgram program = load_program(path_of("layers.pt2"));
  EXPECT_EQ(error_of([&] { program.run({}); }), "exported program: expected 1 inputs, got 0");
  const std::string exported = "; it was exported as float32[" + program.inputs()[0].type.facts().sizes->at(0).text() + ", 4]";
  EXPECT_EQ(error_of([&] {
              program.run({ones({2, 5})});
            }),
            "exported program: input 'x': expected size 4 in dimension 1, got float32 of shape [2, 5]" + exported);
  EXPECT_EQ(error_of([&] {
              program.run({ones({65, 4})});
            }),
            "exported program: input 'x': expected a size from 1 to 64 in dimension 0, got float32 of shape [65, 4]" + exported);
  EXPECT_EQ(error_of([&] {
              program.run({ones({2, 4}).to(kDouble)});
            }),
            "exported program: input 'x': expected dtype float32, got float64 of shape [2, 4]" + exported);
  EXPECT_EQ(error_of([&] { program.run({int64_t{3}}); }), "exported program: input 'x': expected a tensor, got int");
}

// The archive with one entry changed.
std::string edited(const std::string& name, const std::string& entry, const std::function<void(std::string&)>& change) {
  const std::string bytes = bytes_of(name);
  const io::MemorySource source(bytes.data(), bytes.size());
  const io::ZipReader reader(source, name);
  std::string out;
  io::ZipWriter writer([&](const void* data, size_t size) { out.append(static_cast<const char*>(data), size); }, reader.folder());
  for (const io::ZipEntry& e : reader.entries()) {
    std::string content = reader.read(e);
    const std::string prefix = reader.folder() + "/";
    const std::string inside = e.name.compare(0, prefix.size(), prefix) == 0 ? e.name.substr(prefix.size()) : e.name;
    if (inside == entry) change(content);
    writer.add(inside, content);
  }
  writer.finish();
  return out;
}

// A program whose file has other text in the place of some, and what it says to one input.
std::string answer_of(const std::string& from, const std::string& to, const Tensor& input) {
  const std::string bytes = edited("layers.pt2", "models/model.json", [&](std::string& text) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  });
  const ExportedProgram program = load_program_from_memory(bytes.data(), bytes.size());
  return error_of([&] { program.run({input}); });
}
const std::string kGuards = "\"guards_code\": [";
const std::string kNone = "no error";

TEST(Pt2, ConditionsOfTheFileNameInputAndDimension) {
  const std::string third = kGuards + "\"L['x'].size()[0] % 3 == 1\"";
  EXPECT_EQ(answer_of(kGuards, third, ones({4, 4})), kNone);
  EXPECT_EQ(answer_of(kGuards, third, ones({5, 4})), "exported program: expected sizes with L['x'].size()[0] % 3 == 1; input 'x' has size 5 in dimension 0");
  const std::string both = kGuards + "\"not (L['x'].size()[0]*L['x'].size()[1] > 20 or max(2, L['x'].size()[0]) // 2 == 2)\"";
  EXPECT_EQ(answer_of(kGuards, both, ones({3, 4})), kNone);
  EXPECT_NE(answer_of(kGuards, both, ones({6, 4})), kNone);
  EXPECT_NE(answer_of(kGuards, both, ones({5, 4})), kNone);
}

TEST(Pt2, ConditionsThatCannotBeReadAreWarnedOf) {
  static std::string text;
  const WarningHandler before = set_warning_handler([](WarningKind, const std::string& t) { text = t; });
  EXPECT_EQ(answer_of(kGuards, kGuards + "\"L['x'].stride()[0] == 4\"", ones({4, 4})), kNone);
  set_warning_handler(before);
  EXPECT_NE(text.find("is not checked"), std::string::npos) << text;
}

TEST(Pt2, SizesOfAFormNoOtherSizeHas) {
  const std::string symbol = "Symbol('s77', positive=True, integer=True)", even = "Mul(Integer(2), " + symbol + ")";
  EXPECT_EQ(answer_of(symbol, even, ones({6, 4})), kNone);
  EXPECT_NE(answer_of(symbol, even, ones({7, 4})).find("input 'x': expected size 2*s77 in dimension 0, for a whole s77 from 1 to 64"), std::string::npos);
  EXPECT_NE(answer_of(symbol, even, ones({130, 4})).find("expected size 2*s77 in dimension 0"), std::string::npos);
}
std::string error_when(const std::string& name, const std::string& entry, const std::string& from, const std::string& to) {
  const std::string archive = edited(name, entry, [&](std::string& text) {
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  });
  const std::string error = error_of([&] { load_program_from_memory(archive.data(), archive.size()); });
  EXPECT_EQ(error.find("load_program: 'memory': "), 0u) << error;
  return error.substr(std::min(error.size(), std::string("load_program: 'memory': ").size()));
}

TEST(Pt2, DamageIsNamedWithNodeAndField) {
  const std::string model = "models/model.json";
  const std::string first = "graph_module.graph.nodes[";
  EXPECT_EQ(error_when("layers.pt2", model, "\"major\": 8", "\"major\": 9"),
            model + ".schema_version: expected version 8, got 9; this file was written by another PyTorch");
  EXPECT_NE(error_when("layers.pt2", model, "torch.ops.aten.relu.default", "torch.ops.aten.relux.default")
                .find("operators that this library lacks: torch.ops.aten.relux.default (node relu)"),
            std::string::npos);
  EXPECT_NE(error_when("layers.pt2", model, "\"inputs\": [{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"mul\"}}",
                       "\"inputs\": [{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"add_9\"}}")
                .find("the value 'add_9' is used before it is defined"),
            std::string::npos);
  EXPECT_NE(error_when("layers.pt2", model, "{\"name\": \"dim\", \"arg\": {\"as_int\": 1}", "{\"name\": \"dim\", \"arg\": {\"as_int\": \"1\"}")
                .find("arg.as_int: expected a whole number of 64 bits, got string"),
            std::string::npos);
  EXPECT_EQ(error_when("layers.pt2", "data/weights/model_weights_config.json", "\"use_pickle\": false", "\"use_pickle\": true").find("data/weights/"), 0u);
  EXPECT_NE(error_when("layers.pt2", "data/weights/model_weights_config.json", "[{\"as_int\": 3}, {\"as_int\": 4}]", "[{\"as_int\": 3}, {\"as_int\": 4000000}]")
                .find("reach beyond the 12 elements"),
            std::string::npos);
  EXPECT_NE(error_when("layers.pt2", model, "[{\"as_int\": 3}, {\"as_int\": 4}]", "[{\"as_int\": 4611686018427387904}, {\"as_int\": 4611686018427387904}]")
                .find(".sizes: has more elements than 64 bits can count"),
            std::string::npos);
  EXPECT_NE(error_when("layers.pt2", model, "\"parameter_name\": \"linear.weight\"", "\"parameter_name\": \"no.weight\"")
                .find("the archive has no tensor 'no.weight'"),
            std::string::npos);
  const std::string result = "{\"user_output\": {\"arg\": {\"as_tensor\": {\"name\": \"";
  EXPECT_NE(error_when("layers.pt2", model, result, result + "x").find("where the graph has '"), std::string::npos);
  EXPECT_EQ(error_when("layers.pt2", "archive_format", "pt2", "pt3"), "expected the archive format pt2, got 'pt3'");
  EXPECT_EQ(error_when("layers.pt2", model, "{", "[").find(model + ": expected JSON"), 0u);
}

TEST(Pt2, OperatorsOfTheProgramThatWrite) {
  EXPECT_NE(error_of([] { load_program(path_of("written.pt2")); }).find("pt2_test.both"), std::string::npos);
  using dispatch::Library;
  Library library(Library::definitions, "pt2_test", std::string(), __FILE__, __LINE__);
  library.def("both(Tensor(a!) x, Tensor(b!) y, float s=5.0) -> Tensor",
              [](const Tensor& x, const Tensor& y, double s) -> Tensor { return Tensor(x).add_(s) + Tensor(y).add_(s); });
  library.def("fill(Tensor x, Tensor(a!)[] outs) -> ()", [](const Tensor& x, const std::vector<Tensor>& outs) {
    for (const Tensor& out : outs) Tensor(out).copy_(x);
  });
  check_model("written", 1e-6);
  const ExportedProgram program = load_program(path_of("written.pt2"));
  for (int i = 0; i < 2; i++) program.run({ones({3})});
  EXPECT_TRUE(equal(program.state().at("seen"), full({3}, 5.0)));
  const auto wrong = [](const std::string& from, const std::string& to) { return error_when("written.pt2", "models/model.json", from, to); };
  EXPECT_NE(wrong("\"_y_base_index\", \"arg\": {\"as_int\": 1}", "\"_y_base_index\", \"arg\": {\"as_int\": 7}")
                .find("expected the number of one of 2 tensors, got 7"),
            std::string::npos);
  EXPECT_NE(wrong("_x_slice_start", "_x_slice_begin").find("_x_slice_start"), std::string::npos);
  EXPECT_NE(wrong("_all_bases", "_no_bases").find("_all_bases"), std::string::npos);
}

TEST(Pt2, ForeignOperatorsCanBeLookedAt) {
  const std::string archive = edited("layers.pt2", "models/model.json", [](std::string& text) {
    const size_t at = text.find("torch.ops.aten.relu.default");
    text.replace(at, 27, "torch.ops.mine.relu.default");
  });
  LoadOptions options;
  options.allow_foreign = true;
  const ExportedProgram program = load_program_from_memory(archive.data(), archive.size(), options);
  EXPECT_NE(program.graph().text().find("foreign \"torch.ops.mine.relu.default\""), std::string::npos);
  EXPECT_NE(error_of([&] { program.run({ones({2, 4})}); }).find("cannot run"), std::string::npos);
}

TEST(Pt2, CutAndDamagedFilesAreErrorsOrPrograms) {
  std::mt19937 random(2);
  const std::string whole = bytes_of("control.pt2");
  const auto read = [](const std::string& bytes) { return error_of([&] { load_program_from_memory(bytes.data(), bytes.size()); }); };
  for (size_t size = 0; size < whole.size(); size += 997) EXPECT_NE(read(whole.substr(0, size)), "no error") << size;
  for (int i = 0; i < 300; i++) {
    std::string bytes = whole;
    for (int k = 0; k < 3; k++) bytes[random() % bytes.size()] = static_cast<char>(random());
    EXPECT_NE(read(bytes), "");
  }
  // Past the checksums: the model itself is damaged.
  for (int i = 0; i < 600; i++) {
    const std::string bytes = edited(i % 2 ? "control.pt2" : "regions.pt2", "models/model.json", [&](std::string& text) {
      for (int k = 0; k < 2; k++) {
        const size_t at = random() % text.size();
        if (random() % 2) text[at] = "{}[]\",:0123456789eab"[random() % 20];
        else text.erase(at, random() % 12);
      }
    });
    EXPECT_NE(read(bytes), "");
  }
}

}  // namespace
}  // namespace cresset::graph
