#include "cresset/dispatch/c_abi.h"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <new>
#include <unordered_map>

#include "cresset/base/warning.h"
#include "cresset/dispatch/c_extension.h"
#include "cresset/dispatch/registration.h"
#include "cresset/dispatch/registry.h"

using namespace cresset;
using namespace cresset::dispatch;

struct cresset_values_s {
  Stack stack;
};

struct cresset_library_s {
  explicit cresset_library_s(std::string from) : where(std::move(from)) {}
  Library& of(Library::Kind kind, const std::string& ns, const std::string& key) {
    blocks.push_back(std::make_unique<Library>(kind, ns, key, where.c_str(), 0));
    return *blocks.back();
  }
  std::string where;
  std::vector<std::unique_ptr<Library>> blocks;
};

namespace {

thread_local std::string t_message;

cresset_status fail(cresset_status status, const char* message) {
  t_message = message;
  return status;
}

// Runs `f`; what it throws becomes a status and a message.
template <class F> cresset_status guarded(F&& f) noexcept {
  try {
    f();
    return CRESSET_OK;
  } catch (const IndexError& e) { return fail(CRESSET_INDEX_ERROR, e.what()); } catch (const ValueError& e) {
    return fail(CRESSET_VALUE_ERROR, e.what());
  } catch (const TypeError& e) { return fail(CRESSET_TYPE_ERROR, e.what()); } catch (const NotImplementedError& e) {
    return fail(CRESSET_NOT_IMPLEMENTED, e.what());
  } catch (const OutOfMemoryError& e) { return fail(CRESSET_OUT_OF_MEMORY, e.what()); } catch (const LinAlgError& e) {
    return fail(CRESSET_LINALG_ERROR, e.what());
  } catch (const std::bad_alloc&) { return fail(CRESSET_OUT_OF_MEMORY, "out of memory"); } catch (const std::exception& e) {
    return fail(CRESSET_ERROR, e.what());
  } catch (...) { return fail(CRESSET_ERROR, "an exception of an unknown type"); }
}

[[noreturn]] void raise(cresset_status status) {
  const std::string message = t_message.empty() ? "the extension gave no message" : t_message;
  switch (status) {
    case CRESSET_INDEX_ERROR: throw IndexError(message);
    case CRESSET_VALUE_ERROR: throw ValueError(message);
    case CRESSET_TYPE_ERROR: throw TypeError(message);
    case CRESSET_NOT_IMPLEMENTED: throw NotImplementedError(message);
    case CRESSET_OUT_OF_MEMORY: throw OutOfMemoryError(message);
    case CRESSET_LINALG_ERROR: throw LinAlgError(message);
    default: throw Error(message);
  }
}

cresset_op handle_of(const OpEntry& op) { return reinterpret_cast<cresset_op>(&op); }
const OpEntry& entry_of(cresset_op op) { return *reinterpret_cast<const OpEntry*>(op); }

// How often a program holds each tensor that it was given: a reference that is given back too often belongs to another owner.
class Held {
 public:
  void add(const TensorImpl* t) {
    Part& part = part_of(t);
    const std::lock_guard<std::mutex> lock(part.mutex);
    part.counts[t]++;
  }
  bool remove(const TensorImpl* t) {
    Part& part = part_of(t);
    const std::lock_guard<std::mutex> lock(part.mutex);
    const auto at = part.counts.find(t);
    if (at == part.counts.end()) return false;
    if (--at->second == 0) part.counts.erase(at);
    return true;
  }

 private:
  struct Part {
    std::mutex mutex;
    std::unordered_map<const TensorImpl*, int64_t> counts;
  };
  Part& part_of(const TensorImpl* t) { return parts_[(reinterpret_cast<uintptr_t>(t) >> 7) % 16]; }
  Part parts_[16];
};
Held& held() {
  static Held& all = *new Held;
  return all;
}

cresset_tensor give(const Tensor& t) {
  if (!t.defined()) return nullptr;
  held().add(t.impl());
  return reinterpret_cast<cresset_tensor>(intrusive_ptr<TensorImpl>::share(t.impl()).release());
}
TensorImpl* impl_of(cresset_tensor t) { return reinterpret_cast<TensorImpl*>(t); }
Tensor tensor_of(cresset_tensor t) { return t ? Tensor(intrusive_ptr<TensorImpl>::share(impl_of(t))) : Tensor(); }

// The C function as a boxed kernel; its errors become exceptions again.
BoxedFn boxed(cresset_kernel kernel, void* context) {
  return [kernel, context](const OpEntry& op, Stack& stack) {
    const size_t n = op.function_schema().arguments.size();
    cresset_values_s arguments, results;
    arguments.stack.assign(std::make_move_iterator(stack.end() - static_cast<int64_t>(n)), std::make_move_iterator(stack.end()));
    stack.resize(stack.size() - n);
    t_message.clear();
    if (const cresset_status s = kernel(context, handle_of(op), &arguments, &results); s != CRESSET_OK) raise(s);
    const size_t wanted = op.function_schema().returns.size();
    CRESSET_CHECK(results.stack.size() == wanted, op.name, ": the kernel gave ", results.stack.size(), " results, the schema has ", wanted);
    for (Value& v : results.stack) stack.push_back(std::move(v));
  };
}
// The same for a gradient, which takes and gives as many values as there are.
BoxedFn boxed_backward(cresset_kernel kernel, void* context) {
  return [kernel, context](const OpEntry& op, Stack& stack) {
    cresset_values_s arguments{std::move(stack)}, results;
    t_message.clear();
    if (const cresset_status s = kernel(context, handle_of(op), &arguments, &results); s != CRESSET_OK) raise(s);
    stack = std::move(results.stack);
  };
}

std::string namespace_of(const char* name) {
  const std::string_view text(name), head = text.substr(0, text.find('('));
  const size_t at = head.find("::");
  return at == std::string_view::npos ? "cresset" : std::string(head.substr(0, at));
}

// ---- registration ----

cresset_status set_error(cresset_status status, const char* message) { return fail(status, message ? message : ""); }

cresset_status library_open(cresset_library* out) {
  return guarded([&] { *out = new cresset_library_s("a C extension"); });
}
cresset_status library_close(cresset_library library) {
  return guarded([&] { delete library; });
}
cresset_status define(cresset_library library, const char* schema) {
  return guarded([&] { library->of(Library::fragment, namespace_of(schema), "").def(schema); });
}
cresset_status implement(cresset_library library, const char* op, const char* key, cresset_kernel kernel, void* context) {
  return guarded([&] { library->of(Library::implementations, namespace_of(op), key).impl(op, boxed(kernel, context)); });
}
cresset_status gradient(cresset_library library, const char* op, cresset_kernel backward, void* context) {
  return guarded([&] {
    for (const Argument& a : find_op(op).schema().arguments)
      CRESSET_CHECK_VALUE(!a.writes, op, ": gradients of ops that write to their arguments cannot be given through the C interface");
    library->of(Library::implementations, namespace_of(op), "Autograd").impl(op, autograd_with_formula(boxed_backward(backward, context)));
  });
}
cresset_status fallback(cresset_library library, const char* key, cresset_kernel kernel, void* context) {
  return guarded([&] { library->of(Library::implementations, "_", key).fallback(boxed(kernel, context)); });
}
cresset_status c_register_backend(const char* name, const char* device) {
  return guarded([&] { register_backend(name, device); });
}

class CAllocator final : public Allocator {
 public:
  explicit CAllocator(const cresset_allocator& a) : a_(a) {}
  void* allocate(size_t nbytes, Device device) override {
    if (nbytes == 0) return nullptr;
    void* data = a_.allocate(a_.context, nbytes);
    CRESSET_CHECK_AS(OutOfMemoryError, data, "allocator: ", device, " has no room for ", nbytes, " bytes");
    return data;
  }
  void deallocate(void* data, size_t nbytes, Device) override { a_.deallocate(a_.context, data, nbytes); }
  void copy(void* to, const void* from, size_t nbytes, Device device) override {
    if (!a_.copy) return Allocator::copy(to, from, nbytes, device);
    a_.copy(a_.context, to, from, nbytes);
  }

 private:
  cresset_allocator a_;
};

cresset_status c_set_allocator(const char* device, const cresset_allocator* allocator) {
  return guarded([&] {
    const DeviceType type = Device(device).type();
    CRESSET_CHECK_VALUE(type != kCPU && type != kMeta, "set_allocator: the memory of ", device, " is built in");
    CRESSET_CHECK_VALUE(allocator && allocator->allocate && allocator->deallocate, "set_allocator: allocate and deallocate are needed");
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(allocator->allocate), &info) && info.dli_fname) dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    // Lives as long as the process, as tensors on the device may.
    cresset::set_allocator(type, new CAllocator(*allocator));
  });
}

// ---- calls ----

cresset_status c_find_op(const char* name, cresset_op* out) {
  return guarded([&] { *out = handle_of(find_op(name).entry()); });
}
const char* op_name(cresset_op op) { return entry_of(op).name; }
const char* op_schema(cresset_op op) { return entry_of(op).schema; }

void run(cresset_op op, cresset_values arguments, cresset_values results, void (*how)(const OpEntry&, Stack&)) {
  const size_t wanted = entry_of(op).function_schema().arguments.size();
  CRESSET_CHECK_TYPE(arguments->stack.size() == wanted, entry_of(op).name, ": expected ", wanted, " arguments, got ", arguments->stack.size());
  Stack stack = arguments->stack;
  how(entry_of(op), stack);
  for (Value& v : stack) results->stack.push_back(std::move(v));
}
cresset_status call(cresset_op op, cresset_values arguments, cresset_values results) {
  return guarded([&] { run(op, arguments, results, call_boxed); });
}
cresset_status call_below_autograd(cresset_op op, cresset_values arguments, cresset_values results) {
  return guarded([&] {
    ExcludeLayers below(kAutogradLayer);
    run(op, arguments, results, call_boxed);
  });
}
cresset_status c_cpu_fallback(cresset_op op, cresset_values arguments, cresset_values results) {
  return guarded([&] { run(op, arguments, results, dispatch::cpu_fallback); });
}

// ---- values ----

Value& at(cresset_values values, size_t i) {
  CRESSET_CHECK_INDEX(i < values->stack.size(), "values: there is no value ", i, ", there are ", values->stack.size());
  return values->stack[i];
}
cresset_status push(cresset_values values, Value v) {
  return guarded([&] { values->stack.push_back(std::move(v)); });
}

cresset_status values_new(cresset_values* out) {
  return guarded([&] { *out = new cresset_values_s; });
}
void values_free(cresset_values values) { delete values; }
void values_clear(cresset_values values) { values->stack.clear(); }
size_t values_size(cresset_values values) { return values->stack.size(); }

struct KindOf {
  cresset_kind operator()(std::monostate) const { return CRESSET_KIND_NONE; }
  cresset_kind operator()(const Tensor& t) const { return t.defined() ? CRESSET_KIND_TENSOR : CRESSET_KIND_NONE; }
  cresset_kind operator()(int64_t) const { return CRESSET_KIND_INT; }
  cresset_kind operator()(double) const { return CRESSET_KIND_FLOAT; }
  cresset_kind operator()(bool) const { return CRESSET_KIND_BOOL; }
  cresset_kind operator()(const complex<double>&) const { return CRESSET_KIND_COMPLEX; }
  cresset_kind operator()(const std::string&) const { return CRESSET_KIND_STRING; }
  cresset_kind operator()(ScalarType) const { return CRESSET_KIND_DTYPE; }
  cresset_kind operator()(const Device&) const { return CRESSET_KIND_DEVICE; }
  cresset_kind operator()(const std::vector<int64_t>&) const { return CRESSET_KIND_INT_LIST; }
  cresset_kind operator()(const std::vector<double>&) const { return CRESSET_KIND_FLOAT_LIST; }
  cresset_kind operator()(const std::vector<bool>&) const { return CRESSET_KIND_BOOL_LIST; }
  cresset_kind operator()(const std::vector<Tensor>&) const { return CRESSET_KIND_TENSOR_LIST; }
  cresset_kind operator()(const std::vector<Value::Optional>&) const { return CRESSET_KIND_TENSOR_LIST; }
  template <class T> cresset_kind operator()(const T&) const { return CRESSET_KIND_OTHER; }
};
cresset_kind values_kind(cresset_values values, size_t i) {
  return i < values->stack.size() ? std::visit(KindOf(), values->stack[i].data()) : CRESSET_KIND_NONE;
}

cresset_status get_tensor(cresset_values values, size_t i, cresset_tensor* out) {
  return guarded([&] { *out = give(at(values, i).to_tensor()); });
}
cresset_status get_int(cresset_values values, size_t i, int64_t* out) {
  return guarded([&] { *out = at(values, i).to_int(); });
}
cresset_status get_float(cresset_values values, size_t i, double* out) {
  return guarded([&] { *out = at(values, i).to_double(); });
}
cresset_status get_bool(cresset_values values, size_t i, int* out) {
  return guarded([&] { *out = at(values, i).to_bool(); });
}
cresset_status get_complex(cresset_values values, size_t i, double* real, double* imag) {
  return guarded([&] {
    const complex<double> z = at(values, i).to_scalar().toComplexDouble();
    *real = z.real();
    *imag = z.imag();
  });
}
cresset_status get_string(cresset_values values, size_t i, const char** out) {
  return guarded([&] { *out = at(values, i).to_string().c_str(); });
}
cresset_status get_dtype(cresset_values values, size_t i, cresset_dtype* out) {
  return guarded([&] { *out = static_cast<cresset_dtype>(at(values, i).to_dtype()); });
}
cresset_status get_device(cresset_values values, size_t i, const char** type, int* index) {
  return guarded([&] {
    const Device d = at(values, i).to_device();
    *type = device_type_name(d.type());
    if (index) *index = d.index();
  });
}

std::vector<Tensor> tensors_in(const Value& v) {
  std::vector<Tensor> list;
  for (const auto& t : v.to_optional_tensor_list()) list.push_back(t ? *t : Tensor());
  return list;
}
cresset_status get_list_size(cresset_values values, size_t i, size_t* out) {
  return guarded([&] {
    const Value& v = at(values, i);
    if (v.is<std::vector<double>>()) *out = v.to_double_list().size();
    else if (v.is<std::vector<bool>>()) *out = v.to_bool_list().size();
    else if (v.is<std::vector<int64_t>>()) *out = v.to_int_list().size();
    else *out = tensors_in(v).size();
  });
}
cresset_status get_int_list(cresset_values values, size_t i, int64_t* out) {
  return guarded([&] {
    for (const int64_t v : at(values, i).to_int_list()) *out++ = v;
  });
}
cresset_status get_float_list(cresset_values values, size_t i, double* out) {
  return guarded([&] {
    for (const double v : at(values, i).to_double_list()) *out++ = v;
  });
}
cresset_status get_bool_list(cresset_values values, size_t i, int* out) {
  return guarded([&] {
    for (const bool v : at(values, i).to_bool_list()) *out++ = v;
  });
}
cresset_status get_tensor_list(cresset_values values, size_t i, cresset_tensor* out) {
  return guarded([&] {
    for (const Tensor& t : tensors_in(at(values, i))) *out++ = give(t);
  });
}

cresset_status push_value(cresset_values values, cresset_values from, size_t i) {
  return guarded([&] {
    Value v = at(from, i);
    values->stack.push_back(std::move(v));
  });
}
cresset_status push_none(cresset_values values) { return push(values, {}); }
cresset_status push_tensor(cresset_values values, cresset_tensor t) { return push(values, t ? Value(tensor_of(t)) : Value()); }
cresset_status push_int(cresset_values values, int64_t v) { return push(values, v); }
cresset_status push_float(cresset_values values, double v) { return push(values, v); }
cresset_status push_bool(cresset_values values, int v) { return push(values, v != 0); }
cresset_status push_complex(cresset_values values, double real, double imag) { return push(values, Scalar(complex<double>(real, imag))); }
cresset_status push_string(cresset_values values, const char* v) {
  return guarded([&] { values->stack.emplace_back(v); });
}
ScalarType dtype_from(cresset_dtype v) {
  CRESSET_CHECK_VALUE(v >= 0 && v < kNumDTypes, "dtype: ", static_cast<int>(v), " is not a dtype");
  return static_cast<ScalarType>(v);
}
Device device_from(const char* type, int index) {
  const Device d(type ? type : "cpu");
  CRESSET_CHECK_VALUE(index >= -1 && index < 128, "device: ", index, " is not an index");
  return Device(d.type(), static_cast<DeviceIndex>(index));
}
cresset_status push_dtype(cresset_values values, cresset_dtype v) {
  return guarded([&] { values->stack.emplace_back(dtype_from(v)); });
}
cresset_status push_device(cresset_values values, const char* type, int index) {
  return guarded([&] { values->stack.emplace_back(device_from(type, index)); });
}
cresset_status push_int_list(cresset_values values, const int64_t* list, size_t n) {
  return guarded([&] { values->stack.emplace_back(std::vector<int64_t>(list, list + n)); });
}
cresset_status push_float_list(cresset_values values, const double* list, size_t n) {
  return guarded([&] { values->stack.emplace_back(std::vector<double>(list, list + n)); });
}
cresset_status push_bool_list(cresset_values values, const int* list, size_t n) {
  return guarded([&] { values->stack.emplace_back(std::vector<bool>(list, list + n)); });
}
cresset_status push_tensor_list(cresset_values values, const cresset_tensor* list, size_t n) {
  return guarded([&] {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < n; i++) tensors.push_back(tensor_of(list[i]));
    values->stack.emplace_back(std::move(tensors));
  });
}

// ---- tensors ----

cresset_status tensor_empty(const int64_t* sizes, size_t dim, cresset_dtype dtype, const char* device, int index, cresset_tensor* out) {
  return guarded([&] { *out = give(Tensor(make_dense(IntArrayRef(sizes, dim), dtype_from(dtype), device_from(device, index)))); });
}
cresset_status tensor_from_memory(void* data, const int64_t* sizes, const int64_t* strides, size_t dim, cresset_dtype dtype, void (*deleter)(void*, void*),
                                  void* context, cresset_tensor* out) {
  return guarded([&] {
    const ScalarType t = dtype_from(dtype);
    const IntArrayRef shape(sizes, dim);
    const DimVector steps = strides ? DimVector(IntArrayRef(strides, dim)) : contiguous_strides(shape);
    int64_t numel = 1, last = 0;
    for (size_t d = 0; d < dim; d++) {
      CRESSET_CHECK_VALUE(sizes[d] >= 0 && steps[d] >= 0, "tensor_from_memory: sizes and strides must not be negative, got ", shape);
      numel *= sizes[d];
      last += sizes[d] > 0 ? (sizes[d] - 1) * steps[d] : 0;
    }
    const size_t nbytes = numel == 0 ? 0 : static_cast<size_t>(last + 1) * element_size(t);
    std::function<void(void*)> release;
    if (deleter) release = [deleter, context](void* p) { deleter(context, p); };
    auto impl = make_intrusive<TensorImpl>(make_intrusive<StorageImpl>(data, nbytes, Device(kCPU), std::move(release)), t, Device(kCPU));
    impl->set_geometry(shape, steps, 0);
    *out = give(Tensor(std::move(impl)));
  });
}
cresset_tensor tensor_copy(cresset_tensor t) { return give(tensor_of(t)); }
void tensor_free(cresset_tensor t) {
  if (!t) return;
  if (held().remove(impl_of(t))) return intrusive_ptr<TensorImpl>::reclaim(impl_of(t)).reset();
  warn("tensor_free: the program does not hold this tensor, or has given it back already; nothing is freed");
}
size_t tensor_dim(cresset_tensor t) { return static_cast<size_t>(impl_of(t)->dim()); }
const int64_t* tensor_sizes(cresset_tensor t) { return impl_of(t)->sizes().data(); }
const int64_t* tensor_strides(cresset_tensor t) { return impl_of(t)->strides().data(); }
int64_t tensor_numel(cresset_tensor t) { return impl_of(t)->numel(); }
cresset_dtype tensor_dtype(cresset_tensor t) { return static_cast<cresset_dtype>(impl_of(t)->dtype()); }
const char* tensor_device(cresset_tensor t, int* index) {
  if (index) *index = impl_of(t)->device().index();
  return device_type_name(impl_of(t)->device().type());
}
int tensor_is_contiguous(cresset_tensor t) { return impl_of(t)->is_contiguous(); }
int tensor_requires_grad(cresset_tensor t) { return tensor_of(t).requires_grad(); }
void* tensor_data(cresset_tensor t) { return impl_of(t)->data(); }

// ---- gradients ----

cresset_status tensor_set_requires_grad(cresset_tensor t, int requires_grad) {
  return guarded([&] { tensor_of(t).requires_grad_(requires_grad != 0); });
}
cresset_status tensor_backward(cresset_tensor t, cresset_tensor gradient, int retain_graph) {
  return guarded([&] { tensor_of(t).backward(tensor_of(gradient), retain_graph != 0); });
}
cresset_status tensor_grad(cresset_tensor t, cresset_tensor* out) {
  return guarded([&] { *out = give(tensor_of(t).grad()); });
}
cresset_status tensor_set_grad(cresset_tensor t, cresset_tensor gradient) {
  return guarded([&] {
    const Tensor grad = tensor_of(gradient);
    CRESSET_CHECK(!grad.defined() || grad.sizes() == tensor_of(t).sizes(), "tensor_set_grad: expected a gradient of shape ", tensor_of(t).sizes(), ", got ",
                  grad.sizes());
    tensor_of(t).mutable_grad() = grad;
  });
}
cresset_status tensor_detach(cresset_tensor t, cresset_tensor* out) {
  return guarded([&] { *out = give(tensor_of(t).detach()); });
}
int set_grad_enabled(int enabled) {
  const bool before = layer_state().grad_mode;
  layer_state().set_grad_mode(enabled != 0);
  return before;
}

constexpr cresset_api kApi = {
    CRESSET_C_ABI_VERSION,
    sizeof(cresset_api),
    [] { return t_message.c_str(); },
    set_error,
    library_open,
    library_close,
    define,
    implement,
    gradient,
    fallback,
    c_register_backend,
    c_set_allocator,
    c_find_op,
    op_name,
    op_schema,
    call,
    call_below_autograd,
    c_cpu_fallback,
    values_new,
    values_free,
    values_clear,
    values_size,
    values_kind,
    get_tensor,
    get_int,
    get_float,
    get_bool,
    get_complex,
    get_string,
    get_dtype,
    get_device,
    get_list_size,
    get_int_list,
    get_float_list,
    get_bool_list,
    get_tensor_list,
    push_value,
    push_none,
    push_tensor,
    push_int,
    push_float,
    push_bool,
    push_complex,
    push_string,
    push_dtype,
    push_device,
    push_int_list,
    push_float_list,
    push_bool_list,
    push_tensor_list,
    tensor_empty,
    tensor_from_memory,
    tensor_copy,
    tensor_free,
    tensor_dim,
    tensor_sizes,
    tensor_strides,
    tensor_numel,
    tensor_dtype,
    tensor_device,
    tensor_is_contiguous,
    tensor_requires_grad,
    tensor_data,
    tensor_set_requires_grad,
    tensor_backward,
    tensor_grad,
    tensor_set_grad,
    tensor_detach,
    set_grad_enabled,
};
static_assert(static_cast<int>(ScalarType::Byte) == CRESSET_UINT8 && static_cast<int>(ScalarType::Float) == CRESSET_FLOAT32 &&
              static_cast<int>(ScalarType::ComplexDouble) == CRESSET_COMPLEX128 && static_cast<int>(ScalarType::Bool) == CRESSET_BOOL &&
              static_cast<int>(ScalarType::UInt64) == CRESSET_UINT64);

// Open extensions by dlopen's handle.
struct Extensions {
  std::mutex mutex;
  struct Open {
    std::unique_ptr<cresset_library_s> library;
    int times = 0;
  };
  std::map<void*, Open> open;
};
Extensions& extensions() {
  static Extensions& e = *new Extensions;
  return e;
}

}  // namespace

extern "C" const cresset_api* cresset_get_api(uint32_t version) { return version == CRESSET_C_ABI_VERSION ? &kApi : nullptr; }

namespace cresset::dispatch {

void start_c_extension(void* handle, const std::string& path) {
  const auto init = reinterpret_cast<cresset_extension_init_fn>(dlsym(handle, "cresset_extension_init"));
  if (!init) return;
  if (const auto* built_for = static_cast<const uint32_t*>(dlsym(handle, "cresset_extension_abi")))
    CRESSET_CHECK(*built_for == CRESSET_C_ABI_VERSION, "load_library: \"", path, "\" was built for version ", *built_for,
                  " of the C interface, this library speaks version ", CRESSET_C_ABI_VERSION, "; build it against the headers of this release");
  Extensions& e = extensions();
  const std::lock_guard<std::mutex> lock(e.mutex);
  Extensions::Open& open = e.open[handle];
  if (open.times++ > 0) return;
  open.library = std::make_unique<cresset_library_s>(path);
  t_message.clear();
  const cresset_status status = init(&kApi, open.library.get());
  if (status == CRESSET_OK) return;
  e.open.erase(handle);
  raise(status);
}

void stop_c_extension(void* handle) {
  Extensions& e = extensions();
  const std::lock_guard<std::mutex> lock(e.mutex);
  const auto at = e.open.find(handle);
  if (at != e.open.end() && --at->second.times == 0) e.open.erase(at);
}

}  // namespace cresset::dispatch
