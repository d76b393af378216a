#include "call.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "cresset/core/layers.h"

namespace opencl {

namespace {

std::mutex g_mutex;
std::map<std::string, int64_t>& counts() {
  static std::map<std::string, int64_t>& all = *new std::map<std::string, int64_t>;
  return all;
}

}  // namespace

Call::Call(const OpEntry& op, Stack& stack) : op_(op), stack_(stack), count_(op.function_schema().arguments.size()), device_(current_index()) {
  bool known = false;
  for (size_t i = 0; i < count_; i++) {
    cresset::dispatch::for_each_tensor((*this)[i], [&](const Tensor& t) {
      if (!on_device(t)) return;
      CRESSET_CHECK(!known || t.device().index() == device_, op.name, ": expected all tensors on one device, got opencl:", static_cast<int>(device_), " and ",
                    t.device());
      device_ = t.device().index();
      known = true;
    });
    if ((*this)[i].is<cresset::Device>() && (*this)[i].to_device().has_index() && !known) device_ = (*this)[i].to_device().index();
  }
}

std::vector<Tensor> Call::meta_results() const {
  std::vector<std::pair<Tensor, Tensor>> twins;
  Stack inner;
  for (size_t i = 0; i < count_; i++) {
    const Value& v = (*this)[i];
    if (v.is<cresset::Device>()) {
      inner.emplace_back(cresset::Device(cresset::kMeta));
      continue;
    }
    inner.push_back(cresset::dispatch::map_tensors(v, [&](const Tensor& t) {
      if (!t.defined() || t.device().is_meta()) return t;
      for (const auto& [own, twin] : twins)
        if (own.is_same(t)) return twin;
      Tensor twin(cresset::make_strided(t.sizes(), t.strides(), t.scalar_type(), cresset::Device(cresset::kMeta)));
      twin.impl()->set_wrapped_number(t.impl()->is_wrapped_number());
      twins.emplace_back(t, twin);
      return twin;
    }));
  }
  cresset::dispatch::call_boxed(op_, inner);
  std::vector<Tensor> out;
  for (const Value& v : inner) {
    if (!v.is_tensor()) continue;
    Tensor t = v.to_tensor();
    for (const auto& [own, twin] : twins)
      if (twin.is_same(t)) {
        Tensor kept = own;
        if (kept.sizes() != t.sizes()) kept.resize_(t.sizes());
        t = kept;
        break;
      }
    out.push_back(std::move(t));
  }
  return out;
}

std::vector<Tensor> Call::results() const {
  std::vector<Tensor> out = meta_results();
  for (Tensor& t : out)
    if (t.defined() && t.device().is_meta()) t = Tensor(cresset::make_strided(t.sizes(), t.strides(), t.scalar_type(), cresset::Device(kType, device_)));
  return out;
}

void Call::replace(Stack results) {
  stack_.resize(stack_.size() - count_);
  for (Value& v : results) stack_.push_back(std::move(v));
}
bool Call::give_all(const std::vector<Tensor>& results) {
  Stack out;
  for (const Tensor& t : results) out.emplace_back(t);
  replace(std::move(out));
  return true;
}

void native(cresset::dispatch::Library& m, const char* name, Body body) {
  m.impl(name, cresset::dispatch::BoxedFn([body](const OpEntry& op, Stack& stack) {
           {
             const cresset::ExcludeLayers below(cresset::kAutogradLayer);
             Call call(op, stack);
             const cresset::DeviceGuard guard(cresset::Device(kType, call.device()));
             if (body(call)) return;
           }
           on_cpu(op, stack);
         }));
}

void on_cpu(const OpEntry& op, Stack& stack) {
  {
    const std::lock_guard lock(g_mutex);
    counts()[op.name]++;
  }
  cresset::dispatch::cpu_fallback(op, stack);
}
std::vector<std::pair<std::string, int64_t>> fallback_counts() {
  const std::lock_guard lock(g_mutex);
  return {counts().begin(), counts().end()};
}
void reset_fallback_counts() {
  const std::lock_guard lock(g_mutex);
  counts().clear();
}

const char* stored_type(ScalarType t) {
  switch (t) {
    case ScalarType::Bool:
    case ScalarType::Byte: return "uchar";
    case ScalarType::Char: return "char";
    case ScalarType::Short: return "short";
    case ScalarType::Int: return "int";
    case ScalarType::Long: return "long";
    case ScalarType::UInt16: return "ushort";
    case ScalarType::UInt32: return "uint";
    case ScalarType::Half: return "half";
    case ScalarType::BFloat16: return "ushort";
    case ScalarType::Float: return "float";
    case ScalarType::Double: return "double";
    default: return nullptr;
  }
}
const char* element_type(ScalarType t) {
  switch (t) {
    case ScalarType::Bool: return "bool";
    case ScalarType::Byte:
    case ScalarType::Char:
    case ScalarType::Short:
    case ScalarType::Int:
    case ScalarType::Long:
    case ScalarType::UInt16:
    case ScalarType::UInt32: return "long";
    case ScalarType::Half:
    case ScalarType::BFloat16:
    case ScalarType::Float: return "float";
    case ScalarType::Double: return "double";
    default: return nullptr;
  }
}
std::string loaded(ScalarType t, const std::string& p, const std::string& i) {
  if (t == ScalarType::Half) return "vload_half(" + i + ", " + p + ")";
  if (t == ScalarType::BFloat16) return "as_float((uint)" + p + "[" + i + "] << 16)";
  if (t == ScalarType::Bool) return "(" + p + "[" + i + "] != 0)";
  return p + "[" + i + "]";
}
std::string stores(ScalarType t, const std::string& p, const std::string& i, const std::string& value) {
  if (t == ScalarType::Half) return "vstore_half_rte((float)(" + value + "), " + i + ", " + p + ");";
  if (t == ScalarType::BFloat16) return p + "[" + i + "] = bfloat_bits((float)(" + value + "));";
  if (t == ScalarType::Bool) return p + "[" + i + "] = (" + value + ") != 0;";
  if (t == ScalarType::Byte) return p + "[" + i + "] = (uchar)(long)(" + value + ");";
  return p + "[" + i + "] = (" + stored_type(t) + std::string(")(") + value + ");";
}
const std::string& prelude() {
  static const std::string& text = *new const std::string(R"cl(
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
ushort bfloat_bits(float x) {
  const uint u = as_uint(x);
  return x != x ? 0x7fc0 : (ushort)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
)cl");
  return text;
}

std::string names_of(ScalarType t, const char* suffix) {
  const std::string s = suffix;
  return "#define T" + s + " " + stored_type(t) + "\n#define C" + s + " " + element_type(t) + "\n#define LOAD" + s + "(p, i) ((C" + s + ")" +
         loaded(t, "(p)", "(i)") + ")\n#define STORE" + s + "(p, i, v) " + stores(t, "(p)", "(i)", "v") + "\n";
}

One walk_of(const Tensor& t, const std::vector<int64_t>& dims) {
  One w{};
  for (size_t i = 0; i < dims.size(); i++) {
    w.sizes[i] = t.sizes()[static_cast<size_t>(dims[i])];
    w.strides[0][i] = t.strides()[static_cast<size_t>(dims[i])];
  }
  return w;
}
std::vector<int64_t> wrapped_dims(const std::vector<int64_t>& dims, int64_t rank, bool all) {
  std::vector<int64_t> out;
  for (const int64_t d : dims)
    if (rank > 0) out.push_back(d < 0 ? d + rank : d);
  if (dims.empty() && all)
    for (int64_t d = 0; d < rank; d++) out.push_back(d);
  std::sort(out.begin(), out.end());
  return out;
}
std::vector<int64_t> other_dims(const std::vector<int64_t>& dims, int64_t rank) {
  std::vector<int64_t> out;
  for (int64_t d = 0; d < rank; d++)
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) out.push_back(d);
  return out;
}
const char* const kOne = R"cl(
typedef struct { long sizes[8]; long strides[8]; } One;
long offset_of(const One w, int dims, ulong n) {
  long at = 0;
  for (int d = dims - 1; d >= 0; d--) {
    at += (long)(n % w.sizes[d]) * w.strides[d];
    n /= w.sizes[d];
  }
  return at;
}
)cl";
Tensor dense(const Tensor& t) {
  if (t.is_contiguous()) return t;
  const Tensor out = make_like(t);
  move_elements(out, t);
  return out;
}
std::vector<Tensor> dense_for(const std::vector<Tensor>& results) {
  std::vector<Tensor> out;
  for (const Tensor& t : results) out.push_back(!t.defined() || t.is_contiguous() ? t : make_like(t));
  return out;
}
bool deliver(Call& c, const std::vector<Tensor>& results, const std::vector<Tensor>& dense) {
  for (size_t i = 0; i < results.size(); i++)
    if (results[i].defined() && !results[i].is_same(dense[i]) && results[i].numel() > 0) move_elements(results[i], dense[i]);
  return c.give_all(results);
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
}

Tensor make(IntArrayRef sizes, ScalarType dtype, DeviceIndex index) { return Tensor(cresset::make_dense(sizes, dtype, cresset::Device(kType, index))); }

}  // namespace opencl
