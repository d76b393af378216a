// Modules from files of the lite interpreter.

#include <algorithm>

#include "cresset/graph/script/archive/reader.h"
#include "cresset/graph/script/lite/lite.h"
#include "cresset/graph/script/lite/run.h"
#include "cresset/graph/script/sugar.h"

namespace cresset::graph::script {

namespace {

std::pair<std::string, std::string> split_last(const std::string& qualified) {
  const size_t dot = qualified.rfind('.');
  CRESSET_CHECK(dot != std::string::npos && dot > 0, "bytecode: a function without a class, '", qualified, "'");
  return {qualified.substr(0, dot), qualified.substr(dot + 1)};
}

// A pickled tuple of tuples, read by place and by name.
class Rows {
 public:
  Rows(const io::Document& document, io::NodeId id) : document_(document), id_(id) {}
  size_t size() const { return children().size(); }
  Rows operator[](size_t i) const {
    CRESSET_CHECK(i < size(), "bytecode: expected more than ", size(), " values in a row");
    return {document_, children()[i]};
  }
  io::NodeId id() const { return id_; }
  std::string text() const {
    CRESSET_CHECK(node().kind == io::Kind::Text, "bytecode: expected a text");
    return std::string(node().text);
  }
  int64_t number() const {
    CRESSET_CHECK(node().kind == io::Kind::Int, "bytecode: expected a number");
    return node().integer;
  }
  // The value beside a name in a table of pairs.
  Rows named(std::string_view name) const {
    for (size_t i = 0; i < size(); i++)
      if ((*this)[i].size() == 2 && (*this)[i][0].text() == name) return (*this)[i][1];
    CRESSET_CHECK(false, "bytecode: there is no table of ", std::string(name));
  }

 private:
  const io::Node& node() const { return document_[id_]; }
  const std::vector<io::NodeId>& children() const {
    CRESSET_CHECK(node().kind == io::Kind::Tuple, "bytecode: expected a tuple");
    return document_.children(id_);
  }
  const io::Document& document_;
  io::NodeId id_;
};

// Classes whose methods are bytecode.
class LiteNames final : public ArchiveNames, public Resolver {
 public:
  // `version`: of the archive.
  LiteNames(std::shared_ptr<CompilationUnit> unit, ArchiveReader& bytecode, int64_t version) : unit_(unit.get()), bytecode_(bytecode), version_(version) {
    const Rows file = root();
    for (size_t i = 1; i < file.size(); i++) methods_[split_last(file[i][0].text()).first].push_back(i);
  }
  Rows root() const { return {bytecode_.document(), bytecode_.root()}; }

  ClassType* class_named(const std::string& name) override {
    if (const auto made = classes_.find(name); made != classes_.end()) return made->second;
    if (name.compare(0, 24, "__torch__.torch.classes.") == 0) return find_class(name);
    ClassType* cls = unit_->create_class(name, ClassKind::Module);
    classes_[name] = cls;
    if (const auto found = methods_.find(name); found != methods_.end())
      for (const size_t i : found->second) add_method(*cls, root()[i]);
    return cls;
  }
  std::optional<Type> tuple_named(const std::string& name) override { return named_tuple(name); }
  Type type_named(const std::string& text) override { return type_of_text(with_named_tuples(text), this); }
  bool are_open() const override { return true; }

  SugarPtr value(const std::string&, const Range&) override { return nullptr; }
  std::optional<Type> type(const std::string& text, const Range&) override {
    if (const auto tuple = tuples_.find(text); tuple != tuples_.end()) return tuple->second;
    if (text.compare(0, 9, "__torch__") != 0) return std::nullopt;
    // An interface is any class that has its methods.
    return classes_.count(text) || methods_.count(text) ? class_named(text)->type() : Type();
  }

 private:
  // "NAME[NamedTuple, [[a, Tensor], [b, int]]]" says what the tuple NAME is, which stands for it then.
  std::string with_named_tuples(std::string text) {
    const std::string mark = "[NamedTuple,";
    for (size_t at; (at = text.rfind(mark)) != std::string::npos;) {
      size_t start = at;
      while (start > 0 && (isalnum(static_cast<unsigned char>(text[start - 1])) || text[start - 1] == '_' || text[start - 1] == '.')) start--;
      const std::string name = text.substr(start, at - start);
      std::vector<std::string> fields;
      std::vector<Type> types;
      size_t i = text.find('[', at + mark.size());
      int depth = 0;
      std::string part;
      for (; i < text.size(); i++) {
        const char c = text[i];
        if (c == ']' && --depth == 0) break;
        if (c == ']' && depth == 1) {
          const size_t comma = part.find(',');
          CRESSET_CHECK(comma != std::string::npos, "bytecode: '", text, "' is no type");
          fields.push_back(part.substr(0, comma));
          types.push_back(type_of_text(part.substr(part.find_first_not_of(' ', comma + 1)), this));
          part.clear();
        } else if (depth >= 2 || (c == ']' && depth > 1)) {
          part += c;
        }
        if (c == '[') depth++;
      }
      CRESSET_CHECK(i != std::string::npos && i + 1 < text.size() && text[i + 1] == ']', "bytecode: '", text, "' is no type");
      tuples_[name] = define_named_tuple(name, std::move(types), std::move(fields), {});
      text = text.substr(0, at) + text.substr(i + 2);
    }
    return text;
  }
  // How many values a function puts into registers before all else, which are its arguments.
  static int64_t count_stored(const Rows& instructions) {
    const std::string first = instructions.size() > 0 ? instructions[0][0].text() : "";
    const int64_t n = first == "STOREN" ? instructions[0][2].number() : first == "STORE" ? 1 : 0;
    CRESSET_CHECK(n >= 0 && n < (int64_t{1} << 16), "bytecode: a function of ", n, " arguments");
    return n;
  }
  Schema schema_of(const Rows& row) {
    Schema schema;
    schema.name = row[0].text();
    if (row.size() < 3) {
      schema.returns.emplace_back();
      for (int64_t i = 0; i < count_stored(row[1].named("instructions")); i++) {
        schema.arguments.emplace_back();
        schema.arguments.back().name = i == 0 ? "self" : "_" + std::to_string(i);
      }
      return schema;
    }
    const Rows arguments = row[2].named("arguments"), returns = row[2].named("returns");
    for (size_t i = 0; i < arguments.size(); i++) {
      SchemaArgument a;
      a.name = arguments[i].named("name").text();
      a.type = i == 0 ? Type() : type_named(arguments[i].named("type").text());
      const Datum otherwise = bytecode_.value(arguments[i].named("default_value").id(), a.type);
      // A file writes no default as None.
      if (!otherwise.is_none() || a.type.kind() == TypeKind::Optional) a.default_value = otherwise;
      schema.arguments.push_back(std::move(a));
    }
    schema.returns.push_back(returns.size() > 0 ? type_named(returns[0].named("type").text()) : Type());
    return schema;
  }
  void add_method(ClassType& cls, const Rows& row) {
    const std::string method = split_last(row[0].text()).second;
    auto body = std::make_shared<const LiteFunction>(function_of(row));  // which defines the named tuples that the schema may name
    Function* f = unit_->create_function(cls.name + "." + method, schema_of(row));
    f->cls = &cls;
    f->native = [f, body, unit = unit_, has_schema = row.size() > 2](std::vector<Datum>& arguments) {
      if (has_schema) check_arguments(*f, arguments);
      Datum result = body->run(std::move(arguments), unit->limits);
      CRESSET_CHECK(value_fits(result, f->schema.returns[0]), "bytecode: ", short_name(f->name), "() gives ", result.kind(), ", and its declaration says ",
                    annotation_text(f->schema.returns[0]));
      return result;
    };
    cls.methods[method] = f;
    cls.method_order.push_back(method);
  }
  static void check_arguments(const Function& f, const std::vector<Datum>& arguments) {
    const std::vector<SchemaArgument>& wanted = f.schema.arguments;
    CRESSET_CHECK(arguments.size() == wanted.size(), short_name(f.name), "() expected ", wanted.size(), " argument(s) but received ", arguments.size(),
                  " argument(s). Declaration: ", f.schema.text());
    for (size_t i = 1; i < arguments.size(); i++)
      CRESSET_CHECK(value_fits(arguments[i], wanted[i].type), short_name(f.name), "() expected ", annotation_text(wanted[i].type), " for argument '",
                    wanted[i].name, "', got ", arguments[i].kind(), ". Declaration: ", f.schema.text());
  }
  LiteFunction function_of(const Rows& row) {
    LiteFunction f;
    f.name = row[0].text();
    const Rows body = row[1];
    const Rows operators = body.named("operators"), constants = body.named("constants"), types = body.named("types");
    for (size_t i = 0; i < operators.size(); i++) {
      f.operators.emplace_back(operators[i][0].text(), operators[i][1].text(), operators[i].size() > 2 ? operators[i][2].number() : -1, version_);
      if (!f.operators.back().exists()) lacking_.insert(f.operators.back().text());
    }
    for (size_t i = 0; i < constants.size(); i++) f.constants.push_back(bytecode_.value(constants[i].id(), {}));
    for (size_t i = 0; i < types.size(); i++) f.types.push_back(type_named(types[i].text()));
    const int64_t registers = body.named("register_size").number();
    CRESSET_CHECK(registers >= 0 && registers < (int64_t{1} << 24), "bytecode: ", f.name, " wants ", registers, " registers");
    f.registers = static_cast<size_t>(registers);
    const Rows instructions = body.named("instructions");
    for (size_t i = 0; i < instructions.size(); i++) add_instruction(f, instructions[i][0].text(), instructions[i][1].number(), instructions[i][2].number());
    f.check();
    return f;
  }
  void add_instruction(LiteFunction& f, const std::string& name, int64_t x, int64_t n) {
    const auto* const code = std::find(std::begin(kCodeNames), std::end(kCodeNames), name);
    if (code != std::end(kCodeNames)) return f.instructions.push_back({static_cast<Code>(code - std::begin(kCodeNames)), x, n});
    const auto* const s = std::find_if(std::begin(kShortCodes), std::end(kShortCodes), [&](const ShortCode& c) { return name == c.name; });
    CRESSET_CHECK(s != std::end(kShortCodes), "bytecode: ", f.name, " has the instruction ", name, ", which is not known");
    const std::string op = s->op;
    auto at = std::find_if(f.operators.begin(), f.operators.end(), [&](const LiteOperator& o) { return o.text() == op; });
    if (at == f.operators.end()) at = f.operators.emplace(f.operators.end(), op, "", -1, version_);
    f.instructions.push_back({Code::OpN, at - f.operators.begin(), s->inputs >= 0 ? s->inputs : x});
  }

 public:
  // "aten::add.Tensor" of operators that are named and not there.
  const std::set<std::string>& lacking() const { return lacking_; }

 private:
  CompilationUnit* unit_;
  ArchiveReader& bytecode_;
  int64_t version_;
  std::map<std::string, std::vector<size_t>> methods_;  // places in the file by class
  std::map<std::string, ClassType*> classes_;
  std::map<std::string, Type> tuples_;
  std::set<std::string> lacking_;
};

void check_version(const Rows& file, const std::string& name) {
  const int64_t version = file[0].number();
  CRESSET_CHECK(version >= kOldestLiteVersion && version <= kLiteVersion, "lite interpreter: '", name, "' has bytecode of version ", version, ", expected ",
                kOldestLiteVersion, " to ", kLiteVersion);
}
void check_is_lite(const io::ZipReader* zip, const std::string& file) {
  CRESSET_CHECK(zip && zip->find("bytecode.pkl"), "lite interpreter: '", file,
                "' has no bytecode (bytecode.pkl); expected a file of _save_for_lite_interpreter. torch.jit.load reads archives of TorchScript");
}
constexpr const char* kConstants = "constants";

}  // namespace

Datum load_lite(const std::shared_ptr<const io::ByteSource>& source, const std::string& file, const LoadOptions& options,
                std::map<std::string, std::string>* extra) {
  std::optional<io::ZipReader> zip;
  if (io::ZipReader::looks_like_zip(*source)) zip.emplace(*source, file);
  check_is_lite(zip ? &*zip : nullptr, file);
  if (extra)
    for (auto& [name, content] : *extra)
      if (const io::ZipEntry* e = zip->find("extra/" + name)) content = zip->read(*e);
  auto unit = std::make_shared<CompilationUnit>();
  unit->limits = options.limits;
  ArchiveReader bytecode(*zip, *source, "bytecode.pkl", kConstants, options, nullptr);
  LiteNames names(unit, bytecode, archive_version(*zip, file, "lite interpreter"));
  check_version(names.root(), file);
  ArchiveReader reader(*zip, *source, "data.pkl", "data", options, &names);
  const Datum module = reader.value();
  CRESSET_CHECK(object_of(module), "lite interpreter: '", file, "' holds no module");
  std::string lacking;
  for (const std::string& op : names.lacking()) lacking += (lacking.empty() ? "" : ", ") + op;
  CRESSET_CHECK(lacking.empty(), "lite interpreter: '", file, "' calls operators that are not there: ", lacking);
  reader.finish();
  return module;
}

LiteFacts lite_facts(const io::ByteSource& source, const std::string& file) {
  std::optional<io::ZipReader> zip;
  if (io::ZipReader::looks_like_zip(source)) zip.emplace(source, file);
  check_is_lite(zip ? &*zip : nullptr, file);
  const LoadOptions options;
  const ArchiveReader bytecode(*zip, source, "bytecode.pkl", kConstants, options, nullptr);
  const Rows root(bytecode.document(), bytecode.root());
  LiteFacts facts;
  facts.version = root[0].number();
  for (size_t i = 1; i < root.size(); i++) {
    const Rows operators = root[i][1].named("operators"), types = root[i][1].named("types");
    for (size_t k = 0; k < operators.size(); k++) {
      const std::string overload = operators[k][1].text();
      facts.operators[operators[k][0].text() + (overload.empty() ? "" : "." + overload)] = operators[k].size() > 2 ? operators[k][2].number() : -1;
    }
    for (size_t k = 0; k < types.size(); k++) facts.types.push_back(types[k].text());
  }
  return facts;
}

}  // namespace cresset::graph::script
