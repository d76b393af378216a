// Modules from archives.

#include <algorithm>

#include "cresset/base/util/reach.h"
#include "cresset/graph/script/archive.h"
#include "cresset/graph/script/archive/reader.h"
#include "cresset/graph/script/source_map.h"
#include "cresset/graph/script/sugar.h"
#include "cresset/graph/script/upgrade.h"
#include "cresset/graph/script/values.h"
#include "cresset/io/checkpoint.h"
#include "cresset/ops/functions.h"

namespace cresset::graph::script {

namespace {

constexpr int64_t kNewestVersion = 10;

// Named parts of a profile: a class whose text in archives has an object of C++ that only the profiler of PyTorch has.
constexpr const char* kRecorded = "__torch__.torch.autograd.profiler.record_function";
constexpr const char* kRecordFunction = R"(class record_function:
  name : str
  args : Optional[str]
  record : Any
  def __init__(self: __torch__.torch.autograd.profiler.record_function, name: str, args: Optional[str]=None) -> NoneType:
    self.name = name
    self.args = args
    self.record = None
  def __enter__(self: __torch__.torch.autograd.profiler.record_function) -> __torch__.torch.autograd.profiler.record_function:
    self.record = ops.profiler._record_function_enter_new(self.name, self.args)
    return self
  def __exit__(self: __torch__.torch.autograd.profiler.record_function, exc_type: Any, exc_value: Any, traceback: Any) -> NoneType:
    _0 = ops.profiler._record_function_exit(self.record)
    return None
)";

// The texts of an archive, compiled when something asks for a name in them.
class Code final : public ClassSource::Texts, public ArchiveNames, public std::enable_shared_from_this<Code> {
 public:
  Code(std::shared_ptr<CompilationUnit> unit, std::vector<Datum> constants, int64_t version)
      : unit_(unit.get()), constants_(std::move(constants)), version_(version) {}

  // `map`: the places of the program that the text was made from, as archives have them; empty: unknown.
  void add_text(const std::string& home, std::string text, const std::string& file, std::string map) {
    auto source = std::make_shared<ArchiveSource>();
    source->map = std::move(map);
    source->text = std::move(text);
    source->file = file;
    source->archive = true;
    for (AstPtr& a : parse_source(source)) {
      if (a->kind != AstKind::Class && a->kind != AstKind::Def) continue;  // old archives import
      const std::string name = home + "." + a->text;
      if (name == kRecorded && source->text != kRecordFunction) add_text(home, kRecordFunction, "<record_function>", "");
      definitions_.emplace(name, std::shared_ptr<const Ast>(std::move(a)));
    }
  }
  // Texts that are looked for when a name in them is.
  void set_loader(ClassSource::Loader load) { load_ = std::move(load); }
  bool has(const std::string& name) const { return definitions_.count(name) != 0; }
  bool has_below(const std::string& home) const {
    const auto found = definitions_.lower_bound(home + ".");
    return found != definitions_.end() && found->first.compare(0, home.size() + 1, home + ".") == 0;
  }

  // A class, enum or interface; null for names that are none of the archive's.
  ClassType* class_named(const std::string& name) override {
    if (const auto made = classes_.find(name); made != classes_.end()) return made->second;
    load_home_of(name);
    const auto found = definitions_.find(name);
    if (found == definitions_.end() || found->second->kind != AstKind::Class) return find_custom(name);
    const Ast& a = *found->second;
    const std::string base = a.kids.size() > 1 ? a[1].range.text() : "";
    if (base == "NamedTuple") return nullptr;
    CRESSET_CHECK(++depth_ < 500, "archive: classes within each other more than 500 deep");
    const ClassKind kind = base == "Module"                                   ? ClassKind::Module
                           : base == "Enum"                                   ? ClassKind::Enum
                           : base == "ModuleInterface" || base == "Interface" ? ClassKind::Interface
                                                                              : ClassKind::Class;
    ClassType* cls = unit_->create_class(name, kind);
    classes_[name] = cls;
    cls->is_module_interface = base == "ModuleInterface";
    fill(*cls, a);
    depth_--;
    return cls;
  }
  std::optional<Type> tuple_named(const std::string& name) override {
    if (const auto made = tuples_.find(name); made != tuples_.end()) return made->second;
    load_home_of(name);
    const auto found = definitions_.find(name);
    if (found == definitions_.end() || found->second->kind != AstKind::Class || found->second->kids.size() < 2 ||
        (*found->second)[1].range.text() != "NamedTuple")
      return std::nullopt;
    std::vector<Type> types;
    std::vector<std::string> fields;
    for (const AstPtr& line : (*found->second)[0].kids)
      if (line->kind == AstKind::Annotated) {
        fields.push_back((*line)[0].text);
        types.push_back(type(line->kids[1].get()));
      }
    return tuples_[name] = define_named_tuple(name, std::move(types), std::move(fields), {});
  }
  Function* function_named(const std::string& name) {
    if (const auto made = functions_.find(name); made != functions_.end()) return made->second;
    load_home_of(name);
    const auto found = definitions_.find(name);
    if (found == definitions_.end() || found->second->kind != AstKind::Def) return nullptr;
    return functions_[name] = define(name, found->second, nullptr);
  }

  Type type(const Ast* a) { return type_of_annotation(*a, resolver().get()); }
  Type type_named(const std::string& text) override { return type_of_text(text, resolver().get()); }
  // Operators that the texts call and that are not there, with the place of the first call of each.
  std::map<std::string, Range> lacking_operators() {
    std::map<std::string, Range> found;
    for (const auto& [name, definition] : definitions_) find_lacking(*definition, found);
    return found;
  }
  const std::map<std::string, ClassType*>& classes() const { return classes_; }
  const std::vector<Datum>& constants() const { return constants_; }
  std::shared_ptr<Resolver> resolver();

  SugarPtr named(const std::string& name) {
    if (ClassType* cls = class_named(name)) return sugar(cls);
    if (const auto t = tuple_named(name)) return sugar_type(*t);
    if (Function* f = function_named(name)) return sugar(f);
    if (!has_below(name) && name.find("__torch__.torch.classes") != 0 && name != "__torch__.torch") return nullptr;
    const SugarPtr s = sugar_text(SugarKind::Namespace, name);
    const std::weak_ptr<Code> self = weak_from_this();
    s->attribute = [self, name](const std::string& part, const Range&) -> SugarPtr {
      const auto code = self.lock();
      return code ? code->named(name + "." + part) : nullptr;
    };
    return s;
  }

 private:
  void find_lacking(const Ast& a, std::map<std::string, Range>& found) {
    for (const AstPtr& kid : a.kids)
      if (kid) find_lacking(*kid, found);
    if (a.kind == AstKind::Call) meaning_of(a[0], found);
  }
  // Of `torch.relu` and the like. Null: it is another expression, or what it names is lacking, and found.
  SugarPtr meaning_of(const Ast& a, std::map<std::string, Range>& found) {
    if (a.kind == AstKind::Name) return a.text == "torch" || a.text == "ops" ? resolver()->value(a.text, a.range) : nullptr;
    if (a.kind != AstKind::Attribute) return nullptr;
    const SugarPtr owner = meaning_of(a[0], found);
    if (!owner || owner->kind != SugarKind::Namespace) return owner;
    SugarPtr meaning;
    try {
      meaning = owner->attribute(a.text, a.range);
    } catch (const CompileError&) {}
    if (!meaning) found.emplace(a.range.text(), a.range);
    return meaning;
  }
  void load_home_of(const std::string& name) {
    const size_t dot = name.rfind('.');
    if (!load_ || dot == std::string::npos || !loaded_.insert(name.substr(0, dot)).second) return;
    const std::string home = name.substr(0, dot);
    if (const auto source = load_(home)) add_text(home, source->text, source->file, "");
  }
  static ClassType* find_custom(const std::string& name) { return name.compare(0, 24, "__torch__.torch.classes.") == 0 ? find_class(name) : nullptr; }

  Function* define(const std::string& name, const std::shared_ptr<const Ast>& def, ClassType* cls) {
    Function* f = unit_->define(name, def, resolver(), cls);
    if (version_ < kVersionOfOperators)
      f->define = [compile = std::move(f->define), version = version_](Function& made) {
        compile(made);
        upgrade_operators(*made.graph, version);
      };
    return f;
  }

  void fill(ClassType& cls, const Ast& a) {
    std::set<std::string> parameters, buffers;
    const auto strings = [](const Ast& list) {
      std::set<std::string> out;
      for (const AstPtr& e : list.kids)
        if (e->kind == AstKind::Literal && e->value.isString()) out.insert(e->value.to_string());
      return out;
    };
    std::vector<std::pair<std::string, std::shared_ptr<const Ast>>> methods;
    for (const AstPtr& line : a[0].kids) {
      if (line->kind == AstKind::Assign && line->kids.size() == 2) {
        const Ast &target = *line->kids[1], &value = *line->kids[0];
        if (target.kind == AstKind::Name && target.text == "__parameters__") parameters = strings(value);
        else if (target.kind == AstKind::Name && target.text == "__buffers__") buffers = strings(value);
        else if (target.kind == AstKind::Name && (target.text == "__forward_pre_hooks__" || target.text == "__forward_hooks__"))
          for (const AstPtr& e : value.kids) (target.text == "__forward_hooks__" ? cls.hooks : cls.pre_hooks).push_back(e->value.to_string());
        else if (target.kind == AstKind::Name && cls.kind == ClassKind::Enum) {
          CRESSET_CHECK(value.kind == AstKind::Literal, "archive: members of enums are literals");
          cls.members.emplace_back(target.text, value.value);
          cls.member_type = Type::of(value.value);
        } else if (target.kind == AstKind::Subscript && target[0].kind == AstKind::Name && target[0].text == "__annotations__") {
          attribute(cls, target[1].value.to_string(), value);
        }
      } else if (line->kind == AstKind::Annotated && (*line)[0].kind == AstKind::Name) {
        const Ast& annotation = (*line)[1];
        if (line->kid(2)) {
          if (const auto v = literal((*line)[2])) cls.constants[(*line)[0].text] = *v;
          continue;
        }
        attribute(cls, (*line)[0].text, annotation);
      } else if (line->kind == AstKind::Def) {
        methods.emplace_back(line->text, std::shared_ptr<const Ast>(definitions_.at(name_of(cls)), line.get()));
      } else if (line->kind != AstKind::Pass && line->kind != AstKind::Expression) {
        throw CompileError("expected attributes and methods within a class", line->range);
      }
    }
    for (Attribute& at : cls.attributes) {
      at.is_parameter = parameters.count(at.name) != 0;
      at.is_buffer = buffers.count(at.name) != 0;
    }
    for (auto& [method, def] : methods) {
      Function* f = define(cls.name + "." + method, def, &cls);
      if (cls.kind == ClassKind::Interface) {
        cls.interface.push_back(f->schema);
        continue;
      }
      cls.methods[method] = f;
      cls.method_order.push_back(method);
    }
    if (!(cls.hooks.empty() && cls.pre_hooks.empty()) && cls.methods.count("forward") && !cls.methods.count(kCallWithHooks)) add_call_with_hooks(cls);
  }
  // The method by which Python calls a module with hooks.
  void add_call_with_hooks(ClassType& cls) {
    std::string head = "self", inner;
    const Schema& forward = cls.methods.at("forward")->schema;
    for (size_t i = 1; i < forward.arguments.size(); i++) {
      const SchemaArgument& a = forward.arguments[i];
      head += ", " + a.name + ": " + annotation_text(a.type);
      inner += (i > 1 ? ", " : "") + a.name;
    }
    auto source = std::make_shared<Source>();
    source->text = "def " + std::string(kCallWithHooks) + "(" + head + "):\n    return self(" + inner + ")\n";
    source->file = "<hooks>";
    std::vector<AstPtr> parsed = parse_source(source);
    cls.methods[kCallWithHooks] = define(cls.name + "." + kCallWithHooks, std::shared_ptr<const Ast>(std::move(parsed[0])), &cls);
    cls.method_order.push_back(kCallWithHooks);
  }
  std::string name_of(const ClassType& cls) const {
    for (const auto& [name, c] : classes_)
      if (c == &cls) return name;
    return cls.name;
  }
  void attribute(ClassType& cls, const std::string& name, const Ast& annotation) { cls.add_attribute({name, type(&annotation)}); }
  // The value that the text of a constant stands for; none for one that only methods have.
  static std::optional<Datum> literal(const Ast& a) {
    if (a.kind == AstKind::Literal) return a.value;
    if (a.kind == AstKind::List || a.kind == AstKind::Tuple) {
      std::vector<Datum> list;
      for (const AstPtr& e : a.kids) {
        const auto item = literal(*e);
        if (!item) return std::nullopt;
        list.push_back(*item);
      }
      return a.kind == AstKind::Tuple ? Datum(dispatch::TupleObject::create(std::move(list))) : make_list(dispatch::ElementKind::Any, std::move(list));
    }
    if (a.kind == AstKind::Name && a.text == "inf") return Datum(std::numeric_limits<double>::infinity());
    if (a.kind == AstKind::Name && a.text == "nan") return Datum(std::numeric_limits<double>::quiet_NaN());
    if (a.kind == AstKind::Unary && a.text == "-") {
      const auto v = literal(a[0]);
      if (v && v->isInt()) return Datum(-v->to_int());
      if (v && v->isDouble()) return Datum(-v->to_double());
    }
    if (a.kind == AstKind::Call && a[0].text == "device" && a.kids.size() == 2 && a[1].kind == AstKind::Literal) return Datum(Device(a[1].value.to_string()));
    if (a.kind == AstKind::Call && a[0].text == "complex" && a.kids.size() == 3) {
      const auto real = literal(a[1]), imaginary = literal(a[2]);
      if (real && imaginary) return Datum(complex<double>(real->to_double(), imaginary->to_double()));
    }
    return std::nullopt;
  }

  CompilationUnit* unit_;
  std::vector<Datum> constants_;
  int64_t version_;
  std::map<std::string, std::shared_ptr<const Ast>> definitions_;
  std::map<std::string, ClassType*> classes_;
  std::map<std::string, Type> tuples_;
  std::map<std::string, Function*> functions_;
  std::shared_ptr<Resolver> resolver_;
  ClassSource::Loader load_;
  std::set<std::string> loaded_;  // what it was asked for
  int depth_ = 0;
};

class CodeResolver final : public Resolver {
 public:
  CodeResolver(std::weak_ptr<Code> code, int64_t version) : code_(std::move(code)), version_(version) {}

  SugarPtr value(const std::string& name, const Range&) override {
    if (name == "torch") return torch_namespace_of(version_);
    if (name == "ops") return ops_namespace();
    if (name == "fork" || name == "awaitable") return sugar_text(SugarKind::Special, name == "fork" ? "fork" : "_awaitable");
    const auto code = code_.lock();
    if (!code) return nullptr;
    if (name == "CONSTANTS") {
      const SugarPtr s = sugar_text(SugarKind::Namespace, name);
      std::weak_ptr<Code> held = code_;
      s->attribute = [held](const std::string& part, const Range& range) -> SugarPtr {
        const auto c = held.lock();
        const size_t i = part.size() > 1 && part[0] == 'c' ? static_cast<size_t>(std::strtoul(part.c_str() + 1, nullptr, 10)) : SIZE_MAX;
        if (!c || i >= c->constants().size()) throw CompileError("there is no constant " + part, range);
        return sugar_constant(c->constants()[i]);
      };
      return s;
    }
    return code->named(name);
  }
  std::optional<Type> type(const std::string& text, const Range&) override {
    const auto code = code_.lock();
    if (!code || text.compare(0, 9, "__torch__") != 0) return std::nullopt;
    if (ClassType* cls = code->class_named(text)) return cls->type();
    return code->tuple_named(text);
  }

 private:
  std::weak_ptr<Code> code_;
  int64_t version_;
};

std::shared_ptr<Resolver> Code::resolver() {
  if (!resolver_) resolver_ = std::make_shared<CodeResolver>(weak_from_this(), version_);
  return resolver_;
}

// Objects of other classes of the same names.
class Rebuilder {
 public:
  explicit Rebuilder(Code& code) : code_(code) {}

  Datum value(const Datum& v) {
    const auto* held = v.object();
    if (!held) return v;
    if (const auto found = made_.find(held->get()); found != made_.end()) return found->second;
    CRESSET_CHECK(++depth_ < 1000, "module_of_source: values nest deeper than 1000");
    const Datum made = fresh(v);
    depth_--;
    return made_[held->get()] = made;
  }

 private:
  Datum fresh(const Datum& v) {
    if (ScriptObject* o = object_of(v)) return object(*o);
    if (v.isTuple()) {
      std::vector<Datum> out;
      for (const Datum& e : v.toTupleRef().elements()) out.push_back(value(e));
      return Datum(dispatch::TupleObject::create(std::move(out)));
    }
    if (v.isGenericDict()) {
      const auto& dict = dict_of(v);
      auto made = make_intrusive<dispatch::DictObject>(dict.key_kind, dict.value_kind);
      for (const auto& e : dict.entries) made->insert(value(e.key), value(e.value));
      return Datum(intrusive_ptr<dispatch::Object>(std::move(made)));
    }
    if (v.isList()) {
      std::vector<Datum> out;
      for (const Datum& e : v.toListVector()) out.push_back(value(e));
      return make_list(static_cast<const dispatch::ListObject&>(**v.object()).element, std::move(out));
    }
    return v;
  }
  Datum object(ScriptObject& o) {
    const std::string name = o.cls->name;
    ClassType* cls = code_.class_named(name);
    CRESSET_CHECK(cls, "module_of_source: the texts have no class ", name);
    auto made = make_intrusive<ScriptObject>(cls, cls->unit->shared_from_this());
    const Datum self{intrusive_ptr<dispatch::Object>(made)};
    made_[&o] = self;
    for (const Attribute& a : cls->attributes) {
      const int slot = o.cls->slot_of(a.name);
      CRESSET_CHECK(slot >= 0, "module_of_source: the object of ", name, " has no attribute '", a.name, "', which its text has");
      const Datum v = value(o.slots()[static_cast<size_t>(slot)]);
      CRESSET_CHECK(value_fits(v, a.type), "module_of_source: attribute '", a.name, "' of ", name, " is of type ", annotation_text(a.type), ", got ", v.kind());
      made->slot(a.name) = v;
    }
    return self;
  }

  Code& code_;
  std::unordered_map<const dispatch::Object*, Datum> made_;
  int depth_ = 0;
};

// "__torch__.models" of "code/__torch__/models.py".
std::string home_of(std::string file) {
  if (file.compare(0, 5, "code/") == 0) file.erase(0, 5);
  if (file.size() > 3 && file.compare(file.size() - 3, 3, ".py") == 0) file.resize(file.size() - 3);
  std::replace(file.begin(), file.end(), '/', '.');
  return file;
}

void compile_methods(const CompilationUnit& unit) {
  for (const auto& [name, f] : unit.functions)
    if (f->cls && f->cls->kind != ClassKind::Interface) f->ensure_defined();
}

}  // namespace

ClassSource::ClassSource(const std::shared_ptr<CompilationUnit>& unit, std::vector<Datum> constants, Loader load, int64_t version) {
  CRESSET_CHECK_VALUE(version >= 1 && version <= kNewestVersion, "class source: expected a version from 1 to ", kNewestVersion, ", got ", version);
  auto code = std::make_shared<Code>(unit, std::move(constants), version);
  code->set_loader(std::move(load));
  unit->kept.push_back(code);
  code_ = code;
}
ClassType* ClassSource::class_named(const std::string& name) { return static_cast<Code&>(*code_).class_named(name); }
Type ClassSource::type_named(const std::string& name) {
  if (const ClassType* cls = class_named(name)) return cls->type();
  const auto tuple = static_cast<Code&>(*code_).tuple_named(name);
  CRESSET_CHECK(tuple.has_value(), "class source: the texts have no class ", name);
  return *tuple;
}

Datum module_of_source(const Datum& module, const std::map<std::string, std::string>& texts, std::vector<Datum> constants, int64_t version) {
  const ScriptObject* root = object_of(module);
  CRESSET_CHECK(root && root->cls->kind == ClassKind::Module, "module_of_source: expected a module of TorchScript");
  CRESSET_CHECK_VALUE(version >= 1 && version <= kNewestVersion, "module_of_source: expected a version from 1 to ", kNewestVersion, ", got ", version);
  auto unit = std::make_shared<CompilationUnit>();
  auto code = std::make_shared<Code>(unit, std::move(constants), version);
  unit->kept.push_back(code);
  for (const auto& [file, text] : texts)
    if (file.size() < 10 || file.compare(file.size() - 10, 10, ".debug_pkl") != 0) code->add_text(home_of(file), text, file, "");
  Datum made = Rebuilder(*code).value(module);
  compile_methods(*unit);
  return made;
}

int64_t archive_version(const io::ZipReader& zip, const std::string& file, const char* who) {
  const io::ZipEntry* record = zip.find("version");
  if (!record) record = zip.find(".data/version");
  CRESSET_CHECK(record, who, ": '", file, "' has no version");
  const int64_t version = std::strtoll(zip.read(*record).c_str(), nullptr, 10);
  CRESSET_CHECK(version >= 1 && version <= kNewestVersion, who, ": '", file, "' is of version ", version, ", expected 1 to ", kNewestVersion);
  return version;
}

bool holds_program(const io::ByteSource& source, const std::string& file) {
  return !io::ZipReader::looks_like_zip(source) || io::ZipReader(source, file).find("constants.pkl");
}

Datum load_archive(std::shared_ptr<const io::ByteSource> source, const std::string& file, const LoadOptions& options,
                   std::map<std::string, std::string>* extra) {
  CRESSET_CHECK(io::ZipReader::looks_like_zip(*source), "torch.jit.load: '", file, "' is no archive of TorchScript");
  const io::ZipReader zip(*source, file);
  CRESSET_CHECK(zip.find("constants.pkl"), "torch.jit.load: '", file,
                "' is a checkpoint of torch.save, not an archive of TorchScript; load it with torch.load");
  const int64_t version = archive_version(zip, file, "torch.jit.load");
  if (extra)
    for (auto& [name, content] : *extra)
      if (const io::ZipEntry* e = zip.find("extra/" + name)) content = zip.read(*e);
  auto unit = std::make_shared<CompilationUnit>();
  unit->limits = options.limits;
  std::vector<Datum> constants;
  {
    ArchiveReader reader(zip, *source, "constants.pkl", "constants", options, nullptr);
    const Datum tuple = reader.value();
    CRESSET_CHECK(tuple.isTuple(), "torch.jit.load: the constants of '", file, "' are no tuple");
    constants = tuple.toTupleRef().elements();
  }
  auto code = std::make_shared<Code>(unit, std::move(constants), version);
  unit->kept.push_back(code);
  for (const io::ZipEntry& e : zip.entries()) {
    std::string name(zip.inside(e));
    if (name.compare(0, 5, "code/") != 0 || name.size() < 9 || name.compare(name.size() - 3, 3, ".py") != 0) continue;
    const io::ZipEntry* map = zip.find(name + ".debug_pkl");
    code->add_text(home_of(name), zip.read(e, true), name, map ? zip.read(*map, true) : std::string());
  }
  ArchiveReader reader(zip, *source, "data.pkl", "data", options, code.get());
  try {
    const Datum module = reader.value();
    CRESSET_CHECK(object_of(module), "torch.jit.load: '", file, "' holds no module");
    compile_methods(*unit);
    reader.finish();
    return module;
  } catch (const CompileError&) {
    const auto lacking = code->lacking_operators();
    if (lacking.size() < 2) throw;
    std::string all = "torch.jit.load: '" + file + "' calls " + std::to_string(lacking.size()) + " operators that are lacking here:\n";
    for (const auto& [name, range] : lacking) all += name + ":\n" + range.show();
    throw CompileError(all, Range());
  }
}

}  // namespace cresset::graph::script
