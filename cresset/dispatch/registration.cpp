#include "cresset/dispatch/registration.h"

#include <dlfcn.h>

#include <exception>
#include <mutex>
#include <utility>

#include "cresset/dispatch/c_extension.h"
#include "cresset/dispatch/custom_class.h"
#include "cresset/dispatch/operator_schema.h"
#include "cresset/dispatch/registry.h"

namespace cresset::dispatch {

namespace {

// The namespaces that are defined, and where.
struct Namespaces {
  std::mutex mutex;
  std::map<std::string, std::string> defined;
};
Namespaces& namespaces() {
  static Namespaces& n = *new Namespaces;
  return n;
}

std::vector<Argument> arguments_of(const std::vector<Type>& types, const char* prefix) {
  std::vector<Argument> list;
  for (const Type& t : types) {
    Argument a;
    if (*prefix) a.name = prefix + std::to_string(list.size());
    a.type = t;
    list.push_back(std::move(a));
  }
  return list;
}

bool fits_optionally(const Type& declared, const Type& t) { return t == declared || (declared.kind == TypeKind::Tensor && declared.optional && t == Type{}); }

// In words; empty: the function fits.
std::string misfit(const FunctionSchema& s, const detail::Signature& f) {
  if (!f.typed) return {};
  FunctionSchema own;
  own.arguments = arguments_of(f.arguments, "");
  own.returns = arguments_of(f.results, "");
  for (size_t i = 0; i < own.arguments.size() && i < s.arguments.size(); i++)
    if (fits_optionally(s.arguments[i].type, f.arguments[i])) own.arguments[i].type = s.arguments[i].type;
  for (size_t i = 0; i < own.returns.size() && i < s.returns.size(); i++)
    if (fits_optionally(s.returns[i].type, f.results[i])) own.returns[i].type = s.returns[i].type;
  return schema_difference(s, own);
}

std::string list_text(const std::vector<Type>& types) {
  std::string s = "(";
  for (const Type& t : types) s += (s.size() > 1 ? ", " : "") + type_name(t);
  return s + ")";
}
std::string signature_text(const detail::Signature& f) { return list_text(f.arguments) + " -> " + list_text(f.results); }

}  // namespace

namespace detail {

void refuse_boxed(const OpEntry& op, Stack&) {
  CRESSET_CHECK(false, op.name, ": the kernel takes arguments that no stack holds; call it with its C++ types");
  __builtin_unreachable();
}

DetailedSchema inferred_schema(const std::string& name, const Signature& f, const std::string& where) {
  FunctionSchema schema = parse_name(name);
  CRESSET_CHECK(f.typed, "library: a boxed kernel says nothing of its arguments: ", name, " at ", where, ": give the schema in full, as in \"", name,
                "(Tensor x) -> Tensor\"");
  schema.arguments = arguments_of(f.arguments, "_");
  schema.returns = arguments_of(f.results, "_");
  return DetailedSchema(std::move(schema));
}

void check_fits(const FunctionSchema& schema, const std::string& text, const Signature& f, const std::string& where) {
  const std::string difference = misfit(schema, f);
  CRESSET_CHECK(difference.empty(), "library: the function for \"", schema.full_name(), "\" at ", where, " is ", signature_text(f),
                ", which does not fit the schema ", text, ". ", difference);
}

}  // namespace detail

CppFunction CppFunction::makeFallthrough() {
  CppFunction made;
  made.kernel.fallthrough = true;
  made.kernel.boxed = [](const OpEntry&, Stack&) {};
  return made;
}

// ---- a block ----

struct Library::Made {
  std::vector<Registration> kernels;
  std::vector<const OpEntry*> ops;
  std::vector<std::string> fallbacks;
  std::vector<const ClassInfo*> classes;
  bool owns_namespace = false;
};

Library::Library(Kind kind, std::string ns, std::string key, const char* file, int line)
    : kind_(kind), ns_(ns == "aten" ? "cresset" : std::move(ns)), key_(std::move(key)), file_(file ? file : ""), line_(line), made_(std::make_unique<Made>()) {
  if (key_ == "CatchAll") key_ = "CompositeImplicitAutograd";
  CRESSET_CHECK(key_.empty() || is_known_key(key_), "library: \"", key_, "\" at ", where(), " is neither a layer nor a registered backend");
  if (kind != definitions) return;
  CRESSET_CHECK(ns_ != "_", "library: the namespace _ holds fallbacks alone, use TORCH_LIBRARY_IMPL(_, key, m) at ", where());
  Namespaces& all = namespaces();
  std::lock_guard lock(all.mutex);
  const auto [at, fresh] = all.defined.emplace(ns_, where());
  CRESSET_CHECK(fresh, "library: CRESSET_LIBRARY(", ns_, ") appears twice, the second time at ", where(), ", the first time at ", at->second,
                "; Only a single TORCH_LIBRARY can define a namespace, use CRESSET_LIBRARY_FRAGMENT to add to it");
  made_->owns_namespace = true;
}

Library::Library(Library&&) noexcept = default;
Library& Library::operator=(Library&& o) noexcept {
  reset();
  kind_ = o.kind_;
  ns_ = std::move(o.ns_);
  key_ = std::move(o.key_);
  file_ = o.file_;
  line_ = o.line_;
  made_ = std::move(o.made_);
  return *this;
}
Library::~Library() { reset(); }

void Library::reset() {
  if (!made_) return;
  const std::unique_ptr<Made> made = std::exchange(made_, std::make_unique<Made>());
  for (auto k = made->kernels.rbegin(); k != made->kernels.rend(); ++k) remove_kernel(*k);
  for (const OpEntry* op : made->ops) undefine_op(op);
  for (const std::string& key : made->fallbacks) clear_fallback(key);
  for (const ClassInfo* info : made->classes) retire_class(*info);
  if (!made->owns_namespace) return;
  Namespaces& all = namespaces();
  std::lock_guard lock(all.mutex);
  all.defined.erase(ns_);
}

std::string Library::where() const { return std::string(file_) + ":" + std::to_string(line_); }

void Library::define(const std::string& text, CppFunction* function, const std::vector<Tag>& tags) {
  CRESSET_CHECK(kind_ != implementations, "library: def(\"", text, "\") belongs into CRESSET_LIBRARY, not into CRESSET_LIBRARY_IMPL, at ", where());
  const bool names_namespace = text.find("::") < text.find('(');
  DetailedSchema schema = text.find('(') == std::string::npos && function ? detail::inferred_schema(text, function->signature, where()) : parse_detailed(text);
  if (!names_namespace) schema.parts.ns = ns_;
  define(std::move(schema), function, tags);
}

void Library::define(DetailedSchema schema, CppFunction* function, const std::vector<Tag>& tags) {
  CRESSET_CHECK(schema.parts.ns == ns_, "library: \"", schema_text(schema), "\" names the namespace ", schema.parts.ns, " inside CRESSET_LIBRARY(", ns_,
                ") at ", where());
  if (function) detail::check_fits(schema.parts, schema_text(schema), function->signature, where());
  const OpEntry* op = define_op(schema.parts, schema_text(schema), where());
  made_->ops.push_back(op);
  Extension& e = extension_of(*op);
  e.tags = tags;
  e.python_module = python_module_;
  e.aliases = AliasAnalysis::FromSchema;
  e.aliases_given = true;
  if (!function) return;
  // Before the function is moved from: arguments are evaluated in any order.
  const std::string key = function->key.empty() ? "CompositeImplicitAutograd" : function->key;
  put(*op, key, std::move(*function));
}

Library& Library::def(const OperatorSchema& schema, const std::vector<Tag>& tags) {
  CRESSET_CHECK(kind_ != implementations, "library: def(\"", schema.name(), "\") belongs into CRESSET_LIBRARY, not into CRESSET_LIBRARY_IMPL, at ", where());
  DetailedSchema detailed = schema.detailed();
  if (detailed.parts.ns.empty()) detailed.parts.ns = ns_;
  define(std::move(detailed), nullptr, tags);
  Extension& e = extension_of(*made_->ops.back());
  e.aliases = schema.aliasAnalysis();
  e.aliases_given = !schema.isDefaultAliasAnalysisKind();
  return *this;
}

void Library::implement(const std::string& name, CppFunction function) {
  FunctionSchema parts = parse_name(name);
  const bool names_namespace = name.find("::") != std::string::npos;
  CRESSET_CHECK(!names_namespace || parts.ns == ns_, "library: impl(\"", name, "\") names the namespace ", parts.ns, " inside a block of ", ns_, " at ",
                where());
  parts.ns = ns_;
  const OpEntry& op = declared_op(parts.full_name());
  const std::string key = !function.key.empty() ? function.key : !key_.empty() ? key_ : "CompositeImplicitAutograd";
  if (*op.schema) detail::check_fits(op.function_schema(), op.schema, function.signature, where());
  put(op, key, std::move(function));
}

void Library::put(const OpEntry& op, const std::string& key, CppFunction function) {
  function.kernel.where = where();
  made_->kernels.push_back(add_kernel(op, key, std::move(function.kernel)));
  // A device that has LibTorch's _copy_from and no copy_ gets one that is made of it.
  if (std::string_view(op.name) != "_copy_from" || backend_of_key(key) < 0) return;
  if (extension_of(kRoleOps.copy).backends[backend_of_key(key)].load(std::memory_order_acquire)) return;
  if (!*op.schema) {
    DetailedSchema schema = parse_detailed("_copy_from(Tensor self, Tensor dst, bool non_blocking=False) -> Tensor");
    schema.parts.ns = "cresset";
    made_->ops.push_back(define_op(schema.parts, schema_text(schema), where(), true));
  }
  RegisteredKernel copy;
  copy.where = where();
  copy.boxed = [&op](const OpEntry&, Stack& stack) { copy_by_copy_from(op, stack); };
  made_->kernels.push_back(add_kernel(kRoleOps.copy, key, std::move(copy)));
}

void Library::set_fallback(BoxedFn f) {
  CRESSET_CHECK(kind_ == implementations && !key_.empty() && !is_composite_key(key_),
                "library: fallback() belongs into CRESSET_LIBRARY_IMPL(_, Key, m) of a layer or backend, at ", where());
  dispatch::set_fallback(key_, std::move(f));
  made_->fallbacks.push_back(key_);
}
void Library::set_fallback(CppFunction f) {
  if (f.kernel.fallthrough) return;  // what happens without one
  CRESSET_CHECK(!f.signature.typed, "library: a fallback is a boxed function, CppFunction::makeFromBoxedFunction<&f>(), at ", where());
  set_fallback(std::move(f.kernel.boxed));
}

Library& Library::set_python_module(const char* module, const char*) {
  python_module_ = module;
  return *this;
}

const std::string& Library::namespace_for_classes() const {
  CRESSET_CHECK(kind_ != implementations && ns_ != "_", "library: class_ belongs into CRESSET_LIBRARY or CRESSET_LIBRARY_FRAGMENT, at ", where());
  return ns_;
}
void Library::keep_class(const std::type_info& type) { made_->classes.push_back(&class_of(type)); }

namespace {

// The first error of the blocks of the library that this thread is loading.
thread_local bool t_loading = false;
thread_local std::exception_ptr t_load_error;

}  // namespace

LibraryBlock::LibraryBlock(Library::Kind kind, const char* ns, const char* key, const char* file, int line, Init init) {
  if (t_load_error) return;
  try {
    library_ = std::make_unique<Library>(kind, ns, key, file, line);
    init(*library_);
  } catch (const Error& e) {
    library_.reset();
    if (!t_loading) keep_registration_error(str(e.what(), "; nothing of the block of ", ns, " at ", file, ":", line, " is registered"));
    else t_load_error = std::current_exception();
  } catch (const std::exception& e) {
    library_.reset();
    if (!t_loading) keep_registration_error(str(e.what(), "; nothing of the block of ", ns, " at ", file, ":", line, " is registered"));
    // The type of the exception may be the library's, which is closed before the error is seen.
    else t_load_error = std::make_exception_ptr(Error(e.what()));
  } catch (...) {
    library_.reset();
    const std::string text = str("library: the block of ", ns, " at ", file, ":", line, " threw an object that is no std::exception");
    if (!t_loading) keep_registration_error(text);
    else t_load_error = std::make_exception_ptr(Error(text));
  }
}

void* load_library(const std::string& path) {
  const bool outer = std::exchange(t_loading, true);
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  t_loading = outer;
  if (const std::exception_ptr error = std::exchange(t_load_error, nullptr)) {
    dlclose(handle);
    std::rethrow_exception(error);
  }
  CRESSET_CHECK(handle, "load_library: cannot open \"", path, "\": ", dlerror());
  try {
    start_c_extension(handle, path);
  } catch (...) {
    dlclose(handle);
    throw;
  }
  return handle;
}

void unload_library(void* handle) {
  stop_c_extension(handle);
  dlclose(handle);
}

}  // namespace cresset::dispatch
