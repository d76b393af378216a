#include "cresset/dispatch/registration.h"

#include <dlfcn.h>

#include <exception>
#include <mutex>
#include <set>
#include <utility>

#include "cresset/dispatch/c_extension.h"
#include "cresset/dispatch/registry.h"

namespace cresset::dispatch {

namespace {

struct Namespaces {
  std::mutex mutex;
  std::set<std::string> defined;
};
Namespaces& namespaces() {
  static Namespaces& n = *new Namespaces;
  return n;
}

constexpr const char* kCompositeKeys[] = {"Composite", "CompositeImplicitAutograd", "CompositeExplicitAutograd"};
bool is_composite_key(const std::string& key) {
  for (const char* k : kCompositeKeys)
    if (key == k) return true;
  return false;
}

std::atomic<const Kernel*>* place_for(const OpEntry& op, const std::string& key) {
  Extension& e = extension_of(op);
  if (is_composite_key(key)) return &e.composite;
  if (const int l = find_layer(key); l >= 0) return &e.layers[l];
  if (const int b = find_backend(key); b >= 0) return &e.backends[b];
  return nullptr;
}

bool fits(const std::vector<Argument>& declared, const std::vector<Type>& types) {
  if (types.size() != declared.size()) return false;
  for (size_t i = 0; i < types.size(); i++) {
    const Type& t = declared[i].type;
    if (!(types[i] == t) && !(t.kind == TypeKind::Tensor && t.optional && types[i] == Type{})) return false;
  }
  return true;
}
bool fits(const FunctionSchema& s, const detail::Signature& f) {
  return !f.typed || (fits(s.arguments, f.arguments) && fits(s.returns, f.results));
}

std::string list_text(const std::vector<Type>& types) {
  std::string s = "(";
  for (const Type& t : types) s += (s.size() > 1 ? ", " : "") + type_name(t);
  return s + ")";
}
std::string signature_text(const detail::Signature& f) { return list_text(f.arguments) + " -> " + list_text(f.results); }

}  // namespace

Library::Library(Kind kind, std::string ns, std::string key, const char* file, int line)
    : kind_(kind), ns_(ns == "aten" ? "cresset" : std::move(ns)), key_(std::move(key)), file_(file), line_(line) {
  if (kind == definitions) {
    Namespaces& all = namespaces();
    std::lock_guard lock(all.mutex);
    CRESSET_CHECK(all.defined.insert(ns_).second, "library: CRESSET_LIBRARY(", ns_, ") appears twice, the second time at ", where(),
                  "; use CRESSET_LIBRARY_FRAGMENT to add to it");
  }
  if (kind == implementations)
    CRESSET_CHECK(is_composite_key(key_) || find_layer(key_) >= 0 || find_backend(key_) >= 0, "library: \"", key_, "\" at ", where(),
                  " is neither a layer nor a registered backend");
}

Library::~Library() {
  for (const Undo& u : kernels_) place_for(*u.op, u.key)->store(nullptr, std::memory_order_release);
  for (const OpEntry* op : ops_) remove_dynamic_op(op);
  if (has_fallback_) fallback(nullptr);
  if (kind_ == definitions) {
    Namespaces& all = namespaces();
    std::lock_guard lock(all.mutex);
    all.defined.erase(ns_);
  }
}

std::string Library::where() const { return std::string(file_) + ":" + std::to_string(line_); }

void Library::define(const std::string& text, const Kernel* kernel, const detail::Signature& signature) {
  CRESSET_CHECK(kind_ != implementations, "library: def(\"", text, "\") belongs into CRESSET_LIBRARY, not into CRESSET_LIBRARY_IMPL, at ", where());
  FunctionSchema schema = parse_schema(text);
  const bool names_namespace = text.find("::") < text.find('(');
  CRESSET_CHECK(!names_namespace || schema.ns == ns_, "library: \"", text, "\" names the namespace ", schema.ns, " inside CRESSET_LIBRARY(", ns_,
                ") at ", where());
  schema.ns = ns_;
  CRESSET_CHECK(fits(schema, signature), "library: the function for \"", text, "\" at ", where(), " is ", signature_text(signature),
                ", which does not fit the schema");
  const std::string full = names_namespace || ns_ == "cresset" ? text : ns_ + "::" + text;
  const OpEntry* op = add_dynamic_op(schema, full, where());
  ops_.push_back(op);
  if (kernel) put(*op, "Composite", *kernel);
}

void Library::implement(const std::string& name, Kernel kernel, const detail::Signature& signature) {
  const std::string full = name.find("::") != std::string::npos || ns_ == "cresset" ? name : ns_ + "::" + name;
  const OpHandle op = find_op(full);
  CRESSET_CHECK(fits(op.schema(), signature), "library: the kernel for \"", full, "\" at ", where(), " is ", signature_text(signature),
                ", which does not fit the schema ", op.entry().schema);
  CRESSET_CHECK(!key_.empty(), "library: impl(\"", name, "\") needs a key: use CRESSET_LIBRARY_IMPL, at ", where());
  put(op.entry(), key_, std::move(kernel));
}

void Library::put(const OpEntry& op, const std::string& key, Kernel kernel) {
  std::atomic<const Kernel*>* place = place_for(op, key);
  CRESSET_CHECK(!(find_backend(key) == kCpuBackend && op.slot(OpEntry::cpu_slot)) && !(find_backend(key) == kMetaBackend && op.slot(OpEntry::meta_slot)),
                "library: the built-in kernel of \"", op.name, "\" for ", key, " cannot be replaced, at ", where());
  const Kernel* expected = nullptr;
  auto fresh = std::make_unique<const Kernel>(std::move(kernel));
  CRESSET_CHECK(place->compare_exchange_strong(expected, fresh.get(), std::memory_order_acq_rel), "library: a kernel of \"", op.name, "\" for ", key,
                " is already registered; the second one is at ", where());
  keep_for_good(std::move(fresh));
  kernels_.push_back({&op, key});
}

void Library::fallback(BoxedFn f) {
  const int layer = find_layer(key_), backend = find_backend(key_);
  CRESSET_CHECK(kind_ == implementations && (layer >= 0 || backend >= 0), "library: fallback() belongs into CRESSET_LIBRARY_IMPL of a layer or backend, at ",
                where());
  const bool set = f != nullptr;
  if (layer >= 0) set_layer_fallback(static_cast<Layer>(layer), std::move(f));
  else set_backend_fallback(static_cast<uint8_t>(backend), std::move(f));
  has_fallback_ = set;
}

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
  } catch (const Error&) {
    library_.reset();
    if (!t_loading) throw;
    t_load_error = std::current_exception();
  } catch (const std::exception& e) {
    library_.reset();
    if (!t_loading) throw;
    // The type of the exception may be the library's, which is closed before the error is seen.
    t_load_error = std::make_exception_ptr(Error(e.what()));
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
