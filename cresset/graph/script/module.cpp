#include "cresset/graph/script/module.h"

#include <cstdio>
#include <istream>
#include <iterator>
#include <ostream>

#include "cresset/autograd/grad_mode.h"
#include "cresset/base/warning.h"
#include "cresset/graph/script/archive.h"
#include "cresset/graph/script/passes.h"
#include "cresset/graph/script/print.h"
#include "cresset/graph/script/sugar.h"
#include "cresset/io/checkpoint.h"

namespace cresset::graph::script {

Datum call(Function& f, std::vector<Datum> arguments, const Kwargs& keywords) {
  f.ensure_defined();
  const Schema& s = f.schema;
  CRESSET_CHECK(arguments.size() <= s.arguments.size(), short_name(f.name), "() expected at most ", s.arguments.size(), " argument(s) but received ",
                arguments.size(), " argument(s). Declaration: ", s.text());
  for (const auto& [name, v] : keywords) {
    const int i = s.index_of(name);
    CRESSET_CHECK(i >= 0, short_name(f.name), "() got an unknown keyword argument '", name, "'. Declaration: ", s.text());
    CRESSET_CHECK(static_cast<size_t>(i) >= arguments.size(), short_name(f.name), "() got argument '", name, "' twice. Declaration: ", s.text());
  }
  for (size_t i = arguments.size(); i < s.arguments.size(); i++) {
    const SchemaArgument& a = s.arguments[i];
    const auto given = keywords.find(a.name);
    CRESSET_CHECK(given != keywords.end() || a.default_value, short_name(f.name), "() is missing value for argument '", a.name, "'. Declaration: ", s.text());
    arguments.push_back(given != keywords.end() ? given->second : *a.default_value);
  }
  for (size_t i = 0; i < arguments.size(); i++) {
    const SchemaArgument& a = s.arguments[i];
    arguments[i] = shared(std::move(arguments[i]), a.type);
    if (a.type.kind() == TypeKind::Float && arguments[i].isInt()) arguments[i] = Datum(arguments[i].to_double());
    CRESSET_CHECK(value_fits(arguments[i], a.type), short_name(f.name), "() Expected a value of type '", annotation_text(a.type), "' for argument '", a.name,
                  "' but instead found ", arguments[i].kind(), ". Declaration: ", s.text());
  }
  return f.run(std::move(arguments));
}

Datum Method::operator()(std::vector<Datum> arguments, const Kwargs& keywords) const {
  arguments.insert(arguments.begin(), owner_);
  return call(*function_, std::move(arguments), keywords);
}
Module Method::owner() const { return Module(owner_); }

Function& CompilationUnit::get_function(const std::string& name) const {
  Function* f = find(name);
  CRESSET_CHECK(f, "there is no function ", name);
  return *f;
}
Datum CompilationUnit::run_values(const std::string& name, std::vector<Datum> arguments) const { return call(get_function(name), std::move(arguments)); }

// ---- modules

Module::Module() : Module("__torch__.Module") {}
Module::Module(const std::string& class_name) : Module(class_name, std::make_shared<CompilationUnit>()) {}
Module::Module(std::string class_name, std::shared_ptr<CompilationUnit> unit, bool) {
  ClassType* cls = unit->create_class(class_name.compare(0, 9, "__torch__") == 0 ? class_name : "__torch__." + class_name, ClassKind::Module);
  value_ = Datum(intrusive_ptr<dispatch::Object>(make_intrusive<ScriptObject>(cls, std::move(unit))));
  register_attribute("training", TypeKind::Bool, Datum(true));
}
Module::Module(Datum value) : value_(std::move(value)) {
  ScriptObject* o = object_of(value_);
  CRESSET_CHECK_TYPE(o && o->cls->kind == ClassKind::Module, "Module: expected a module, got ", value_.kind());
}
ScriptObject& Module::object() const { return *object_of(value_); }

std::optional<Method> Module::find_method(const std::string& name) const {
  Function* f = object().cls->method(name);
  return f ? std::optional<Method>(Method(value_, f)) : std::nullopt;
}
Method Module::get_method(const std::string& name) const {
  auto m = find_method(name);
  CRESSET_CHECK(m, "Method '", name, "' is not defined on ", short_name(object().cls->name));
  return *m;
}
std::vector<Method> Module::get_methods() const {
  std::vector<Method> out;
  for (const std::string& name : object().cls->method_order) out.push_back(get_method(name));
  return out;
}

namespace {

class TextNames final : public Resolver {
 public:
  SugarPtr value(const std::string& name, const Range&) override { return name == "torch" ? torch_namespace() : nullptr; }
  std::optional<Type> type(const std::string&, const Range&) override { return std::nullopt; }
};

}  // namespace

void Module::define(const std::string& text) {
  auto source = std::make_shared<Source>();
  source->text = text;
  source->file = "<string>";
  ClassType& cls = *object().cls;
  std::vector<Function*> made;
  for (AstPtr& a : parse_source(source)) {
    if (a->kind != AstKind::Def) throw CompileError("define: expected methods", a->range);
    const std::string name = a->text;
    if (cls.methods.count(name)) throw CompileError("define: '" + short_name(cls.name) + "' has a method '" + name + "' already", a->range);
    Function* f = cls.unit->define(cls.name + "." + name, std::move(a), std::make_shared<TextNames>(), &cls);
    cls.methods[name] = f;
    cls.method_order.push_back(name);
    made.push_back(f);
  }
  for (Function* f : made) f->ensure_defined();
}

void Module::clone_method(const Module& from, const std::string& name) {
  Function& original = from.get_method(name).function();
  CRESSET_CHECK(!original.native, "clone_method: '", name, "' is a function of ", original.is_ignored ? "Python" : "C++", ", and has no code");
  ClassType& cls = *object().cls;
  CRESSET_CHECK(!cls.methods.count(name), "clone_method: '", short_name(cls.name), "' has a method '", name, "' already");
  auto graph = original.inlined().clone();
  graph->block().parameter(0)->set_type(cls.type());
  Schema schema = original.schema;
  schema.arguments[0].type = cls.type();
  Function* f = cls.unit->create_function(cls.name + "." + name, std::move(schema));
  f->cls = &cls;
  f->graph = std::move(graph);
  f->ensure_defined();
  cls.methods[name] = f;
  cls.method_order.push_back(name);
  cls.unit->uses.push_back(from.object().unit);
}
Module Module::copy_without(const std::vector<std::string>& names) const {
  const std::set<std::string> dropped(names.begin(), names.end());
  const ClassType& from = *type();
  ClassType* cls = from.unit->create_class(from.name, ClassKind::Module);
  cls->constants = from.constants;
  cls->constant_types = from.constant_types;
  cls->container = from.container;
  cls->overloads = from.overloads;
  for (const Attribute& a : from.attributes)
    if (!dropped.count(a.name)) cls->add_attribute(a);
  auto made = make_intrusive<ScriptObject>(cls, object().unit);
  for (const Attribute& a : cls->attributes) made->slot(a.name) = object().slot(a.name);
  Module out{Datum(intrusive_ptr<dispatch::Object>(std::move(made)))};
  for (const std::string& method : from.method_order)
    if (!dropped.count(method)) out.clone_method(*this, method);
  cls->pre_hooks = from.pre_hooks;
  cls->hooks = from.hooks;
  return out;
}
intrusive_ptr<dispatch::Object> Module::create_class(const std::string& class_name, std::shared_ptr<CompilationUnit> unit, bool) {
  ClassType* cls = unit->create_class(class_name, ClassKind::Module);
  return make_intrusive<ScriptObject>(cls, std::move(unit));
}
void Module::store_traced_inputs(const std::string& method, std::vector<Datum> inputs) { object().traced_inputs[method] = std::move(inputs); }
Dict<std::string, List<Datum>> Module::retrieve_traced_inputs() const {
  Dict<std::string, List<Datum>> out;
  for (const auto& [method, inputs] : object().traced_inputs) {
    List<Datum> list;
    for (const Datum& v : inputs) list.push_back(v);
    out.insert(method, list);
  }
  return out;
}
void Module::set_delete_memory(std::shared_ptr<char> memory) { object().payload = std::move(memory); }

bool Module::hasattr(const std::string& name) const { return object().cls->attribute(name) || object().cls->constants.count(name); }
Datum Module::attr(const std::string& name) const {
  const ScriptObject& o = object();
  if (const auto found = o.cls->constants.find(name); found != o.cls->constants.end()) return found->second;
  CRESSET_CHECK(o.cls->attribute(name), "Module '", short_name(o.cls->name), "' has no attribute '", name, "'");
  return object().slot(name);
}
void Module::setattr(const std::string& name, Datum value) const {
  ScriptObject& o = object();
  CRESSET_CHECK(!o.cls->constants.count(name), "Can't set constant '", name, "' which has value: ", literal_of(attr(name)));
  const Attribute* a = o.cls->attribute(name);
  CRESSET_CHECK(a, "Module '", short_name(o.cls->name), "' has no attribute '", name, "'");
  value = shared(std::move(value), a->type);
  CRESSET_CHECK(value_fits(value, a->type), "setattr: attribute '", name, "' is of type ", annotation_text(a->type), ", got ", value.kind());
  o.slot(name) = std::move(value);
}
void Module::register_attribute(const std::string& name, const Type& type, Datum value, bool is_parameter, bool is_buffer) {
  ScriptObject& o = object();
  if (!o.cls->attribute(name)) o.cls->add_attribute({name, type, is_parameter, is_buffer});
  setattr(name, std::move(value));
}
void Module::register_parameter(const std::string& name, Tensor value, bool is_buffer) {
  register_attribute(name, TypeKind::Tensor, Datum(std::move(value)), !is_buffer, is_buffer);
}
void Module::register_buffer(const std::string& name, Tensor value) { register_parameter(name, std::move(value), true); }
void Module::register_module(const std::string& name, const Module& module) {
  object().unit->uses.push_back(module.object().unit);
  register_attribute(name, module.type()->type(), module._ivalue());
}

namespace {

template <class Visit> void walk(const Module& m, const std::string& prefix, bool recurse, const Visit& visit) {
  const ScriptObject& o = m.object();
  for (const Attribute& a : o.cls->attributes) {
    const Datum& v = m.object().slot(a.name);
    const std::string path = prefix.empty() ? a.name : prefix + "." + a.name;
    visit(path, a, v);
    ScriptObject* part = object_of(v);
    if (recurse && part && part->cls->kind == ClassKind::Module) walk(Module(v), path, recurse, visit);
  }
}
template <class T> SlotList<T> values_of(const SlotList<Named<T>>& named) {
  std::vector<T> out;
  for (const Named<T>& n : named) out.push_back(n.value);
  return SlotList<T>(std::move(out));
}
bool is_module(const Datum& v) {
  ScriptObject* o = object_of(v);
  return o && o->cls->kind == ClassKind::Module;
}

}  // namespace

SlotList<Named<Tensor>> Module::named_parameters(bool recurse) const {
  std::vector<Named<Tensor>> out;
  walk(*this, "", recurse, [&](const std::string& path, const Attribute& a, const Datum& v) {
    if (a.is_parameter && v.is_tensor() && v.to_tensor().defined()) out.push_back({path, v.to_tensor()});
  });
  return SlotList<Named<Tensor>>(std::move(out));
}
SlotList<Named<Tensor>> Module::named_buffers(bool recurse) const {
  std::vector<Named<Tensor>> out;
  walk(*this, "", recurse, [&](const std::string& path, const Attribute& a, const Datum& v) {
    if (a.is_buffer && v.is_tensor() && v.to_tensor().defined()) out.push_back({path, v.to_tensor()});
  });
  return SlotList<Named<Tensor>>(std::move(out));
}
SlotList<Named<Module>> Module::named_children() const {
  std::vector<Named<Module>> out;
  walk(*this, "", false, [&](const std::string& path, const Attribute&, const Datum& v) {
    if (is_module(v)) out.push_back({path, Module(v)});
  });
  return SlotList<Named<Module>>(std::move(out));
}
SlotList<Named<Module>> Module::named_modules() const {
  std::vector<Named<Module>> out{{"", *this}};
  walk(*this, "", true, [&](const std::string& path, const Attribute&, const Datum& v) {
    if (is_module(v)) out.push_back({path, Module(v)});
  });
  return SlotList<Named<Module>>(std::move(out));
}
SlotList<Named<Datum>> Module::named_attributes(bool recurse) const {
  std::vector<Named<Datum>> out;
  walk(*this, "", recurse, [&](const std::string& path, const Attribute&, const Datum& v) { out.push_back({path, v}); });
  return SlotList<Named<Datum>>(std::move(out));
}
SlotList<Tensor> Module::parameters(bool recurse) const { return values_of(named_parameters(recurse)); }
SlotList<Tensor> Module::buffers(bool recurse) const { return values_of(named_buffers(recurse)); }
SlotList<Module> Module::modules() const { return values_of(named_modules()); }
SlotList<Module> Module::children() const { return values_of(named_children()); }
SlotList<Datum> Module::attributes(bool recurse) const { return values_of(named_attributes(recurse)); }

void Module::train(bool on) {
  for (const Module& m : modules())
    if (m.object().cls->attribute("training")) m.object().slot("training") = Datum(on);
}
namespace {

template <class Map> void move_tensors(const Module& m, const Map& map) {
  const NoGradGuard no_grad;
  for (const Module& part : m.modules())
    for (const Attribute& a : part.object().cls->attributes) {
      Datum& v = part.object().slot(a.name);
      if (!(a.is_parameter || a.is_buffer) || !v.is_tensor() || !v.to_tensor().defined()) continue;
      Tensor t = v.to_tensor();
      // In place, so that optimizers keep their parameters.
      t.set_data(map(t));
    }
}

}  // namespace
void Module::to(Device device, ScalarType dtype, bool non_blocking) {
  move_tensors(*this, [&](const Tensor& t) { return isFloatingType(t.scalar_type()) ? t.to(device, dtype, non_blocking) : t.to(device, non_blocking); });
}
void Module::to(ScalarType dtype, bool non_blocking) {
  move_tensors(*this, [&](const Tensor& t) { return isFloatingType(t.scalar_type()) ? t.to(dtype, non_blocking) : t; });
}
void Module::to(Device device, bool non_blocking) {
  move_tensors(*this, [&](const Tensor& t) { return t.to(device, non_blocking); });
}
void Module::apply(const std::function<void(Module&)>& f) {
  for (const Module& m : children()) Module(m).apply(f);
  f(*this);
}

Module Module::copy() const {
  auto o = make_intrusive<ScriptObject>(object().cls, object().unit);
  o->slots() = object().slots();
  return Module(Datum(intrusive_ptr<dispatch::Object>(std::move(o))));
}
Module Module::deepcopy(std::optional<Device> device) const {
  dispatch::Object::Memo memo;
  Module m{Datum(object().deepcopy(memo))};
  if (device) m.to(*device);
  return m;
}

namespace {

struct ExtraFiles {
  std::mutex mutex;
  ExportModuleExtraFilesHook hook;
};
ExtraFiles& extra_files() {
  static auto* const e = new ExtraFiles;
  return *e;
}
void write_archive(const Module& m, const ExtraFilesMap& extra, const std::string& folder, const io::WriteBytes& write) {
  std::map<std::string, std::string> files(extra.begin(), extra.end());
  ExportModuleExtraFilesHook hook;
  {
    const std::lock_guard lock(extra_files().mutex);
    hook = extra_files().hook;
  }
  if (hook)
    for (auto& [name, content] : hook(m)) files.emplace(name, content);
  save_archive(m._ivalue(), files, folder, write);
}

}  // namespace

void SetExportModuleExtraFilesHook(ExportModuleExtraFilesHook hook) {
  const std::lock_guard lock(extra_files().mutex);
  extra_files().hook = std::move(hook);
}
void Module::save(const std::string& path, const ExtraFilesMap& extra) const {
  io::write_file_atomically(path, [&](const io::WriteBytes& write) { write_archive(*this, extra, io::archive_folder(path), write); });
}
void Module::save(std::ostream& out, const ExtraFilesMap& extra) const {
  write_archive(*this, extra, "archive", [&](const void* data, size_t n) { out.write(static_cast<const char*>(data), static_cast<std::streamsize>(n)); });
  CRESSET_CHECK(out.good(), "Module::save: the stream cannot be written");
}
std::string Module::dump_to_str(bool code, bool attributes, bool parameters) const {
  std::string s = "module " + object().cls->name + " {\n";
  if (parameters)
    for (const auto& p : named_parameters(false)) s += "  parameter " + p.name + "\n";
  if (attributes)
    for (const Attribute& a : object().cls->attributes) s += "  attribute " + a.name + " : " + annotation_text(a.type) + "\n";
  if (code) {
    Referred referred;
    for (const std::string& m : object().cls->method_order)
      if (Function* f = object().cls->methods.at(m); !f->native) s += code_of(*f, referred, false, "  ");
  }
  for (const auto& c : named_children()) s += "  submodule " + c.name + " : " + c.value.type()->name + "\n";
  return s + "}\n";
}
void Module::dump(bool code, bool attributes, bool parameters) const { std::fputs(dump_to_str(code, attributes, parameters).c_str(), stdout); }

// ---- files and texts

namespace {

Module load_from(std::shared_ptr<const io::ByteSource> source, const std::string& file, std::optional<Device> device, ExtraFilesMap* extra) {
  LoadOptions options;
  options.device = device;
  std::map<std::string, std::string> files;
  if (extra) files.insert(extra->begin(), extra->end());
  Module m(load_archive(std::move(source), file, options, &files));
  if (extra)
    for (auto& [name, content] : files) (*extra)[name] = content;
  return m;
}
// Bytes that it owns.
class StringSource final : public io::ByteSource {
 public:
  explicit StringSource(std::string bytes) : bytes_(std::move(bytes)), source_(bytes_.data(), bytes_.size()) {}
  uint64_t size() const override { return source_.size(); }
  void read(uint64_t offset, void* to, size_t size) const override { source_.read(offset, to, size); }

 private:
  std::string bytes_;
  io::MemorySource source_;
};
std::shared_ptr<const io::ByteSource> source_of(std::istream& in) {
  return std::make_shared<StringSource>(std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()));
}
std::mutex& fusion_mutex() {
  static auto* const m = new std::mutex;
  return *m;
}
FusionStrategy& fusion_strategy() {
  static auto* const s = new FusionStrategy{{FusionBehavior::STATIC, 2}, {FusionBehavior::DYNAMIC, 10}};
  return *s;
}

}  // namespace

Module load(const std::string& path, std::optional<Device> device, bool) { return load_from(std::make_shared<io::FileSource>(path), path, device, nullptr); }
Module load(const std::string& path, std::optional<Device> device, ExtraFilesMap& extra, bool) {
  return load_from(std::make_shared<io::FileSource>(path), path, device, &extra);
}
Module load(std::istream& in, std::optional<Device> device, bool) { return load_from(source_of(in), "<stream>", device, nullptr); }
Module load(std::istream& in, std::optional<Device> device, ExtraFilesMap& extra, bool) { return load_from(source_of(in), "<stream>", device, &extra); }

namespace {

Module kept_by(const std::shared_ptr<CompilationUnit>& unit, Module m) {
  unit->uses.push_back(m.object().unit);
  return m;
}

}  // namespace

Module import_ir_module(const std::shared_ptr<CompilationUnit>& unit, const std::string& path, std::optional<Device> device, bool) {
  return kept_by(unit, load(path, device));
}
Module import_ir_module(const std::shared_ptr<CompilationUnit>& unit, std::istream& in, std::optional<Device> device, bool) {
  return kept_by(unit, load(in, device));
}
Module import_ir_module(const std::shared_ptr<CompilationUnit>& unit, const std::string& path, std::optional<Device> device, ExtraFilesMap& extra, bool) {
  return kept_by(unit, load(path, device, extra));
}
Module import_ir_module(const std::shared_ptr<CompilationUnit>& unit, std::istream& in, std::optional<Device> device, ExtraFilesMap& extra, bool) {
  return kept_by(unit, load(in, device, extra));
}
Module parse_and_initialize_jit_module(const std::shared_ptr<char>& data, size_t size, ExtraFilesMap& extra, std::optional<Device> device) {
  return load_from(std::make_shared<io::MemorySource>(data.get(), size), "<bytes>", device, &extra);
}

Module freeze(const Module& module, const std::optional<std::vector<std::string>>& preserved, bool optimize_numerics) {
  CRESSET_CHECK(!module.hasattr("training") || !module.is_training(), "freeze: the module trains, call eval() on it first");
  Module out(freeze_module(module._ivalue(), preserved.value_or(std::vector<std::string>())));
  if (optimize_numerics) optimize_frozen(out._ivalue());
  return out;
}
Module optimize_for_inference(Module& module, const std::vector<std::string>& other_methods) {
  Module out = module.named_parameters().size() || module.children().size() ? freeze(module, other_methods) : module;
  optimize_frozen(out._ivalue());
  pack_weights(out._ivalue());
  return out;
}
std::vector<std::string> export_opnames(const Module& module) { return operator_names(module._ivalue()); }

std::shared_ptr<CompilationUnit> compile(const std::string& source) {
  auto unit = std::make_shared<CompilationUnit>();
  unit->define_text(source, nullptr);
  return unit;
}

FusionStrategy setFusionStrategy(FusionStrategy& strategy) {
  const std::lock_guard lock(fusion_mutex());
  if (strategy != fusion_strategy()) {
    static std::once_flag told;
    std::call_once(told,
                   [] { warn("setFusionStrategy: programs are not specialised for shapes here: the strategy is kept for those who ask, and has no effect"); });
  }
  return std::exchange(fusion_strategy(), strategy);
}
FusionStrategy getFusionStrategy() {
  const std::lock_guard lock(fusion_mutex());
  return fusion_strategy();
}

}  // namespace cresset::graph::script
