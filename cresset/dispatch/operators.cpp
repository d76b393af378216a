#include "cresset/dispatch/operators.h"

#include "cresset/dispatch/registry.h"

namespace cresset::dispatch {

using Options = RegisterOperators::Options;

Options&& Options::schema(const std::string& schema_or_name) && {
  CRESSET_CHECK(text_.empty(), "RegisterOperators: the operator has two schemas, ", text_, " and ", schema_or_name);
  text_ = schema_or_name;
  return std::move(*this);
}
Options&& Options::aliasAnalysis(AliasAnalysis kind) && {
  CRESSET_CHECK(!aliases_, "RegisterOperators: aliasAnalysis is given twice for ", text_);
  aliases_ = kind;
  return std::move(*this);
}
Options&& Options::add(std::string key, CppFunction f) {
  f.key = key.empty() ? "CompositeImplicitAutograd" : std::move(key);
  kernels_.push_back(std::move(f));
  return std::move(*this);
}

RegisterOperators::RegisterOperators() = default;
RegisterOperators::~RegisterOperators() {
  while (!made_.empty()) made_.pop_back();
}
RegisterOperators::RegisterOperators(RegisterOperators&&) noexcept = default;
RegisterOperators& RegisterOperators::operator=(RegisterOperators&&) noexcept = default;

namespace {

void check_keys(const std::vector<CppFunction>& kernels, const std::string& text) {
  for (size_t i = 0; i < kernels.size(); i++)
    for (size_t j = 0; j < i; j++) {
      if (kernels[i].key != kernels[j].key) continue;
      CRESSET_CHECK(!is_composite_key(kernels[i].key), "RegisterOperators: expected one kernel for all backends of ", text, ", got several");
      CRESSET_CHECK(false, "RegisterOperators: expected one kernel for key ", kernels[i].key, " of ", text, ", got several");
    }
}

DetailedSchema schema_of(const std::string& text, const std::vector<CppFunction>& kernels) {
  CRESSET_CHECK(!text.empty(), "RegisterOperators: expected the schema or the name of an operator, got none");
  if (text.find('(') != std::string::npos) return parse_detailed(text);
  CRESSET_CHECK(!kernels.empty(), "RegisterOperators: expected a schema of ", text, " or a kernel to take it from, got neither");
  std::optional<DetailedSchema> schema;
  const CppFunction* first = nullptr;
  for (const CppFunction& k : kernels) {
    if (!k.signature.typed) continue;
    DetailedSchema own = detail::inferred_schema(text, k.signature, "RegisterOperators");
    if (schema)
      CRESSET_CHECK(schema_difference(schema->parts, own.parts).empty(), "RegisterOperators: Mismatch in kernel C++ signatures: the kernel of ", text, " for ",
                    k.key, " takes other types than the one for ", first->key, ": ", schema_difference(schema->parts, own.parts));
    if (!schema) first = &k;
    schema = std::move(own);
  }
  return schema ? *schema : detail::inferred_schema(text, {}, "RegisterOperators");
}

}  // namespace

RegisterOperators& RegisterOperators::op(Options&& o) & {
  const DetailedSchema detailed = schema_of(o.text_, o.kernels_);
  const FunctionSchema& schema = detailed.parts;
  const std::string text = schema_text(detailed);
  check_keys(o.kernels_, o.text_);
  CRESSET_CHECK(!(schema.ns == "cresset" && find_op_or_null(schema.full_name())), "RegisterOperators: the operator ", o.text_, " is built in");
  for (const CppFunction& k : o.kernels_) detail::check_fits(schema, text, k.signature, "RegisterOperators");
  const OpEntry* op = define_op(schema, text, "RegisterOperators", true);
  made_.emplace_back([op] { undefine_op(op); });
  Extension& e = extension_of(*op);
  if (o.aliases_) {
    CRESSET_CHECK(!e.aliases_given || e.aliases == *o.aliases_, "RegisterOperators: expected one kind of alias analysis for ", text, ", got two");
    e.aliases = *o.aliases_;
    e.aliases_given = true;
  }
  for (CppFunction& k : o.kernels_) {
    k.kernel.where = "RegisterOperators";
    const Registration r = add_kernel(*op, k.key, std::move(k.kernel));
    made_.emplace_back([r] { remove_kernel(r); });
  }
  return *this;
}
RegisterOperators&& RegisterOperators::op(Options&& o) && {
  op(std::move(o));
  return std::move(*this);
}

}  // namespace cresset::dispatch
