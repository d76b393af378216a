#include "cresset/graph/io/pt2.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <future>

#include "cresset/base/warning.h"
#include "cresset/graph/io/pt2_conditions.h"
#include "cresset/graph/io/pt2_facts.h"
#include "cresset/graph/io/pt2_graph.h"
#include "cresset/graph/ir/levels.h"
#include "cresset/io/zip.h"
#include "cresset/ops/functions.h"
#include "cresset/transform/autocast.h"

namespace cresset::graph {

namespace {

constexpr int64_t kMajorVersion = 8;
// Documents compress less than this; memory stays in proportion to the file.
constexpr uint64_t kMostExpansion = 100;

Field::Json parse_json(const std::string& text, const std::string& name) {
  try {
    return Field::Json::parse(text);
  } catch (const Field::Json::exception& e) { throw ValueError(str(name, ": expected JSON, ", e.what())); }
}

}  // namespace

class Pt2Reader {
 public:
  Pt2Reader(const io::ByteSource& source, std::string file, const LoadOptions& options)
      : source_(source), file_(std::move(file)), archive_(source, file_), options_(options) {}

  ExportedProgram read() {
    return within([&] { return program(); });
  }
  std::vector<std::string> models() {
    return within([&] { return model_names(); });
  }

 private:
  template <class F> auto within(F&& body) -> decltype(body()) {
    try {
      check_archive();
      return body();
    } catch (Error& e) {
      e.add_context("load_program: '" + file_ + "'");
      throw;
    }
  }
  std::string entry(const std::string& name) const {
    const io::ZipEntry* e = archive_.find(name);
    CRESSET_CHECK_VALUE(e, "the archive has no entry '", name, "'");
    const uint64_t most = kMostExpansion * e->size + (uint64_t{1} << 20);
    CRESSET_CHECK_VALUE(!e->deflated || e->full_size <= most, "'", name, "' expands ", e->size, " bytes to ", e->full_size, ", expected at most ", most);
    return archive_.read(*e, true);
  }
  void check_archive() const {
    CRESSET_CHECK_VALUE(archive_.find("archive_format"), "expected an archive that torch.export.save wrote, got one without 'archive_format'");
    const std::string format = entry("archive_format");
    CRESSET_CHECK_VALUE(format == "pt2", "expected the archive format pt2, got '", format.substr(0, 40), "'");
    if (archive_.find("byteorder"))
      CRESSET_CHECK_VALUE(entry("byteorder") == "little", "expected little-endian weights, got '", entry("byteorder").substr(0, 40), "'");
  }
  std::vector<std::string> model_names() const {
    const std::string_view folder = "models/", ending = ".json";
    std::vector<std::string> found;
    for (const io::ZipEntry& e : archive_.entries()) {
      const std::string_view name = archive_.inside(e);
      const bool is_model =
          name.size() > folder.size() + ending.size() && name.substr(0, folder.size()) == folder && name.substr(name.size() - ending.size()) == ending;
      if (is_model) found.emplace_back(name.substr(folder.size(), name.size() - folder.size() - ending.size()));
    }
    return found;
  }
  std::string model_name() const {
    const std::vector<std::string> names = model_names();
    CRESSET_CHECK_VALUE(!names.empty(), "the archive has no model");
    const auto has = [&](const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); };
    if (options_.model.empty() && names.size() == 1) return names[0];
    const std::string wanted = options_.model.empty() ? "model" : options_.model;
    if (has(wanted)) return wanted;
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "'" : ", '") + name + "'";
    CRESSET_CHECK_VALUE(!options_.model.empty(), "the archive has the models ", list, "; expected the name of one of them");
    CRESSET_CHECK_VALUE(false, "the archive has no model '", options_.model, "', it has ", list);
    return {};
  }

  ExportedProgram program() {
    const std::string model = model_name(), path = "models/" + model + ".json";
    ExportedProgram out;
    const Field::Json document = read_weights(model, path, out);
    const Field root(document, path);
    if (root.has("torch_version")) out.version_ = root.at("torch_version").text();
    const Field module = root.at("graph_module");
    auto graph = std::make_shared<Graph>("forward");
    ranges(root, *graph);
    read_graph(module, *graph, out);
    trees(module, out);
    out.conditions_ = std::make_shared<const std::vector<Condition>>(conditions(root, module, out));
    graph->verify();
    out.graph_ = graph;
    const bool is_whole = missing_.empty();
    if (is_whole) out.program_ = std::make_shared<Program>(*graph, options_.program);
    return out;
  }

  static void check_version(const Field& root) {
    const int64_t major = root.at("schema_version").at("major").integer();
    if (major != kMajorVersion)
      root.at("schema_version").fail("expected version ", kMajorVersion, ", got ", major, "; this file was written by another PyTorch");
  }
  // The model's document, which another thread parses while this one reads the weights. An error of the document counts before one of the weights.
  Field::Json read_weights(const std::string& model, const std::string& path, ExportedProgram& out) {
    Field::Json document;
    std::future<void> parsed = std::async([&document, text = entry(path), &path] { document = parse_json(text, path); });
    std::exception_ptr failed;
    try {
      read_tensors("data/weights/", model + "_weights_config.json", out.state_);
      read_tensors("data/constants/", model + "_constants_config.json", out.state_);
    } catch (const Error&) { failed = std::current_exception(); }
    parsed.get();
    check_version(Field(document, path));
    if (failed) std::rethrow_exception(failed);
    return document;
  }

  void ranges(const Field& root, Graph& graph) const {
    if (!root.has("range_constraints")) return;
    root.at("range_constraints").each_named([&](const std::string& name, const Field& f) {
      // Ranges of functions of sizes, such as "s0 + 1", follow from those of their symbols.
      if (name.find_first_of(" +-*/(,)") != std::string::npos) return;
      SymRange r;
      if (!f.json().is_object()) f.fail("expected an object, got ", f.json().type_name());
      // Infinite bounds are null or names.
      if (f.has("min_val") && f.at("min_val").json().is_number()) r.min = f.at("min_val").integer();
      if (f.has("max_val") && f.at("max_val").json().is_number()) r.max = f.at("max_val").integer();
      if (r.min > r.max) f.fail("expected a lower end up to the upper one, got ", r.min, " and ", r.max);
      if (!Sym::symbol(name).as_symbol()) f.fail("expected the name of a size");
      graph.ranges()[name] = r;
    });
  }

  // Weights are bytes in the archive; several may be views of one entry.
  void read_tensors(const std::string& folder, const std::string& config, std::map<std::string, Tensor>& state) {
    if (!archive_.find(folder + config)) return;
    const Field::Json document = parse_json(entry(folder + config), folder + config);
    Field(document, folder + config).at("config").each_named([&](const std::string& name, const Field& f) {
      if (f.at("use_pickle").boolean()) f.fail("'", name, "' is stored as a pickle, which is not opened");
      if (f.has("tensor_meta")) state[name] = tensor(f, folder + f.at("path_name").text());
    });
  }
  Tensor tensor(const Field& f, const std::string& path) {
    const Field meta = f.at("tensor_meta");
    const TensorFacts facts = read_facts(meta);
    if (!facts.strides) meta.at("layout").fail("expected a weight of layout 7 (strided)");
    const auto numbers = [&](const std::vector<Sym>& list, const char* what) {
      std::vector<int64_t> out;
      for (const Sym& s : list) {
        out.push_back(s.constant().value_or(-1));
        if (out.back() < 0) meta.fail("expected ", what, " that are numbers, got ", s.text());
      }
      return out;
    };
    const std::vector<int64_t> sizes = numbers(*facts.sizes, "sizes"), strides = numbers(*facts.strides, "strides");
    const int64_t offset = read_sym(meta.at("storage_offset")).constant().value_or(-1);
    if (offset < 0) meta.fail("expected a storage offset that is not negative");
    const Tensor whole = storage(f, path, *facts.dtype);
    // The last element that the tensor reaches.
    int64_t last = offset;
    bool is_empty = false, overflows = false;
    for (size_t d = 0; d < sizes.size(); d++) {
      int64_t reach = 0;
      is_empty = is_empty || sizes[d] == 0;
      overflows = overflows || __builtin_mul_overflow(std::max<int64_t>(sizes[d] - 1, 0), strides[d], &reach) || __builtin_add_overflow(last, reach, &last);
    }
    if (!is_empty && (overflows || last >= whole.numel()))
      meta.fail("sizes ", IntArrayRef(sizes), " and strides ", IntArrayRef(strides), " reach beyond the ", whole.numel(), " elements of '", path, "'");
    if (is_empty) return empty(sizes, TensorOptions().dtype(*facts.dtype));
    return whole.as_strided(sizes, strides, offset);
  }
  Tensor storage(const Field& f, const std::string& path, ScalarType dtype) {
    const auto key = std::make_pair(path, dtype);
    if (const auto found = storages_.find(key); found != storages_.end()) return found->second;
    const io::ZipEntry* e = archive_.find(path);
    if (!e) f.fail("the archive has no entry '", path, "'");
    archive_.check_stored(*e);
    const auto element = static_cast<int64_t>(element_size(dtype));
    const Tensor t = empty({static_cast<int64_t>(e->size) / element}, TensorOptions().dtype(dtype));
    source_.read(e->data_offset, t.data_ptr(), static_cast<size_t>(t.numel() * element));
    return storages_[key] = t;
  }

  Value* weight(const Field& spec, const char* key, Graph& graph, const ExportedProgram& out) {
    const std::string name = spec.at(key).text();
    const auto found = out.state_.find(name);
    if (found == out.state_.end()) spec.fail("the archive has no tensor '", name, "'");
    Value*& v = weights_[name];
    if (!v) v = graph.constant(found->second, name);
    return v;
  }
  Value* weight_of(const std::string& name) const {
    const auto found = weights_.find(name);
    return found == weights_.end() ? nullptr : found->second;
  }
  // Sizes that the graph has for a weight must be the weight's.
  void check_weight(const Field& graph, const Field& input, const Value& v) const {
    const Type claimed = GraphReader::type_of(graph, input);
    const TensorFacts &a = claimed.facts(), &b = v.type().facts();
    if (a.dtype != b.dtype || a.sizes != b.sizes) input.fail("is ", claimed.text(), ", where the weight '", v.name(), "' is ", v.type().text());
  }

  void read_graph(const Field& module, Graph& graph, ExportedProgram& out) {
    const Field body = module.at("graph"), signature = module.at("signature");
    std::vector<Field> inputs, specs;
    body.at("inputs").each([&](const Field& f) { inputs.push_back(f); });
    signature.at("input_specs").each([&](const Field& f) { specs.push_back(f); });
    if (inputs.size() != specs.size()) signature.fail("has ", specs.size(), " input_specs, where the graph has ", inputs.size(), " inputs");
    Names names;
    for (size_t i = 0; i < inputs.size(); i++) input(body, inputs[i], specs[i], graph, names, out);
    GraphReader reader(graph, options_.allow_foreign);
    reader.nodes(body, graph.block(), names);
    missing_ = reader.missing();
    out.has_regions_ = reader.has_regions();
    if (!missing_.empty() && !options_.allow_foreign) {
      std::string list;
      for (const auto& [op, node] : missing_) list += (list.empty() ? "" : ", ") + op + " (node " + node + ")";
      CRESSET_CHECK_NOT_IMPLEMENTED(false, "operators that this library lacks: ", list);
    }
    results(body, signature, reader, graph, names);
    graph.remove_unused_constants();
  }
  void input(const Field& body, const Field& in, const Field& spec, Graph& graph, Names& names, ExportedProgram& out) {
    const auto [kind, value] = spec.choice();
    const auto define = [&](const std::string& name, Value* v) {
      const auto [how, given] = in.choice();
      const std::string own = given.has("name") ? given.at("name").text() : given.has("as_name") ? given.at("as_name").text() : "";
      if (own != name) spec.fail("is the input '", name, "', where the graph has '", own, "'");
      if (!names.emplace(name, v).second) spec.fail("the input '", name, "' is there twice");
    };
    if (kind == "parameter" || kind == "buffer" || kind == "tensor_constant") {
      Value* v = weight(value, kind == "parameter" ? "parameter_name" : kind == "buffer" ? "buffer_name" : "tensor_constant_name", graph, out);
      check_weight(body, in, *v);
      return define(value.at("arg").at("name").text(), v);
    }
    if (kind == "user_input") {
      const auto [argument, named] = value.at("arg").choice();
      const bool has_name = named.has("name") || named.has("as_name");
      const std::string name = !has_name ? "constant" : named.has("name") ? named.at("name").text() : named.at("as_name").text();
      const Type type = has_name ? GraphReader::type_of(body, value.at("arg")) : Type();
      Value* v = graph.add_parameter(type, name);
      out.inputs_.push_back({name, type});
      if (has_name) define(name, v);
      return;
    }
    if (kind == "constant_input") {
      out.inputs_.push_back({value.at("name").text(), Type()});
      graph.add_parameter(Type(), value.at("name").text());
      return;
    }
    // Keeps calls in order, which nodes are anyway.
    if (kind == "token") return define(value.at("arg").at("name").text(), graph.none());
    spec.fail("inputs of the kind ", kind, " are not supported");
  }
  void results(const Field& body, const Field& signature, GraphReader& reader, Graph& graph, const Names& names) const {
    std::vector<Field> outputs;
    body.at("outputs").each([&](const Field& f) { outputs.push_back(f); });
    size_t i = 0;
    signature.at("output_specs").each([&](const Field& spec) {
      if (i >= outputs.size()) spec.fail("the graph has ", outputs.size(), " outputs");
      const auto [kind, value] = spec.choice();
      if (kind == "token") {
        i++;
        return;
      }
      check_result(value.at("arg"), outputs[i]);
      Value* v = reader.argument(outputs[i++], names, graph.block().return_node());
      if (kind == "user_output" || kind == "loss_output") return graph.block().add_result(v);
      if (kind == "buffer_mutation") return write(value, graph, weight_of(value.at("buffer_name").text()), v);
      if (kind == "parameter_mutation") return write(value, graph, weight_of(value.at("parameter_name").text()), v);
      if (kind != "user_input_mutation") spec.fail("outputs of the kind ", kind, " are not supported");
      const auto found = names.find(value.at("user_input_name").text());
      write(value, graph, found == names.end() ? nullptr : found->second, v);
    });
    if (i != outputs.size()) signature.fail("has ", i, " output_specs, where the graph has ", outputs.size(), " outputs");
  }
  // Results of the signature are those of the graph.
  static void check_result(const Field& spec, const Field& output) {
    const auto name_of = [](const Field& f) { return f.has("name") ? f.at("name").text() : f.has("as_name") ? f.at("as_name").text() : std::string(); };
    const std::string said = name_of(spec.has("name") ? spec : spec.choice().second), own = name_of(output.choice().second);
    if (said != own) spec.fail("is the result '", said, "', where the graph has '", own, "'");
  }
  static void write(const Field& spec, Graph& graph, Value* to, Value* from) {
    if (!to) spec.fail("names no buffer or input");
    graph.create("copy_", {to, from});
  }

  void trees(const Field& module, ExportedProgram& out) const {
    if (!module.has("module_call_graph")) return;
    module.at("module_call_graph").each([&](const Field& f) {
      if (!f.at("fqn").text().empty() || !f.has("signature")) return;
      out.input_tree_ = f.at("signature").at("in_spec").text();
      out.output_tree_ = f.at("signature").at("out_spec").text();
    });
  }

  // One that cannot be read is warned of, as nothing checks it.
  static std::vector<Condition> conditions(const Field& root, const Field& module, const ExportedProgram& out) {
    std::vector<Condition> found;
    if (!root.has("guards_code")) return found;
    std::vector<std::string> names;
    if (module.has("module_call_graph"))
      module.at("module_call_graph").each([&](const Field& f) {
        if (!f.at("fqn").text().empty() || !f.has("signature") || !f.at("signature").has("forward_arg_names")) return;
        f.at("signature").at("forward_arg_names").each([&](const Field& name) { names.push_back(name.text()); });
      });
    std::vector<std::string> places = places_of(out.input_tree_, names);
    places.resize(out.inputs_.size());
    root.at("guards_code").each([&](const Field& f) {
      try {
        found.push_back(read_condition(f.text(), places));
      } catch (const Error& error) { warn(str("load_program: a condition of the file is not checked: ", error.what())); }
    });
    return found;
  }

  const io::ByteSource& source_;
  std::string file_;
  io::ZipReader archive_;
  const LoadOptions& options_;
  std::map<std::pair<std::string, ScalarType>, Tensor> storages_;
  std::map<std::string, std::string> missing_;
  std::map<std::string, Value*> weights_;  // of the graph, whose own names for them may differ
};

ExportedProgram load_program(const std::string& path, const LoadOptions& options) {
  const io::FileSource source(path);
  return Pt2Reader(source, path, options).read();
}
ExportedProgram load_program_from_memory(const void* data, size_t size, const LoadOptions& options) {
  const io::MemorySource source(data, size);
  return Pt2Reader(source, "memory", options).read();
}

std::vector<std::string> models_of(const std::string& path) {
  const io::FileSource source(path);
  return Pt2Reader(source, path, {}).models();
}

ExportedProgram ExportedProgram::with_graph(std::shared_ptr<const Graph> graph, const ProgramOptions& options) const {
  ExportedProgram other = *this;
  other.program_ = std::make_shared<const Program>(*graph, options);
  other.graph_ = std::move(graph);
  return other;
}

std::vector<Datum> ExportedProgram::run(std::vector<Datum> inputs) const {
  CRESSET_CHECK(program_, "exported program: it has operators that this library lacks, and cannot run");
  CRESSET_CHECK_VALUE(inputs.size() == inputs_.size(), "exported program: expected ", inputs_.size(), " inputs, got ", inputs.size());
  check_inputs(inputs_, inputs, *graph_, *conditions_);
  if (!has_regions_) return program_->run(std::move(inputs));
  // An error within a region leaves the caller's state as it was.
  const autocast kept(kCPU, std::nullopt, amp::is_autocast_enabled(kCPU));
  const LevelScope levels;
  return program_->run(std::move(inputs));
}

}  // namespace cresset::graph
