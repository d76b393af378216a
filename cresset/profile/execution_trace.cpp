#include "cresset/profile/execution_trace.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <sstream>
#include <unordered_map>
#include <vector>

#include "cresset/profile/arguments.h"
#include "cresset/profile/json.h"
#include "cresset/profile/observers.h"

namespace cresset::profile {

namespace {

using dispatch::Value;

constexpr const char* kSchema = "1.1.1-chakra.0.0.4";

// Arguments or results as lists of JSON: values, shapes, strides, types.
struct Columns {
  std::string values, shapes, strides, types;
  void add(const std::string& value, const std::string& shape, const std::string& stride, const std::string& type) {
    const char* comma = types.empty() ? "" : ", ";
    values += comma + value;
    shapes += comma + shape;
    strides += comma + stride;
    types += comma + json_text(type);
  }
  std::string object() const {
    return "{\"values\": [" + values + "], \"shapes\": [" + shapes + "], \"types\": [" + types + "], \"strides\": [" + strides + "]}";
  }
};

}  // namespace

struct ExecutionTrace::State {
  std::mutex mutex;
  std::string path;
  uint64_t observer = 0;
  std::vector<std::string> nodes;
  struct Open {
    uint64_t id;
    std::string inputs;
  };
  struct Thread {
    uint64_t id = 0;
    std::vector<Open> open;
  };
  std::unordered_map<uint64_t, Thread> threads;
  uint64_t next = 2;  // 1 is the root
  std::unordered_map<const void*, uint64_t> identities;

  uint64_t identity(const void* object) {
    const auto [at, fresh] = identities.emplace(object, next);
    if (fresh) next++;
    return at->second;
  }

  std::string tensor_value(const Tensor& t) {
    const void* storage = t.impl()->has_storage() ? static_cast<const void*>(t.storage().unsafeGetStorageImpl()) : nullptr;
    return "[" + std::to_string(identity(t.impl())) + ", " + std::to_string(storage ? identity(storage) : 0) + ", " + std::to_string(t.storage_offset()) +
           ", " + std::to_string(t.numel()) + ", " + std::to_string(t.element_size()) + ", " + json_text(t.device().str()) + "]";
  }
  static std::string type_of(const Tensor& t) { return std::string("Tensor(") + trace_type_name(t.scalar_type()) + ")"; }
  static std::string strides_of(const Tensor& t) { return t.layout() == Layout::Strided ? json_list(t.strides().vec()) : "[]"; }

  void add(Columns& columns, const Value& v) {
    if (v.is_tensor() && v.to_tensor().defined()) {
      const Tensor& t = v.to_tensor();
      columns.add(tensor_value(t), json_list(t.sizes().vec()), strides_of(t), type_of(t));
    } else if (v.is<std::vector<Tensor>>()) {
      Columns inside;
      std::string types;
      for (const Tensor& t : v.to_tensor_list())
        if (t.defined()) {
          inside.add(tensor_value(t), json_list(t.sizes().vec()), strides_of(t), type_of(t));
          types += (types.empty() ? "" : ",") + type_of(t);
        }
      columns.add("[" + inside.values + "]", "[" + inside.shapes + "]", "[" + inside.strides + "]", "GenericList[" + types + "]");
    } else {
      columns.add(json_value(v), "[]", "[]", type_of(v));
    }
  }
  static std::string type_of(const Value& v) {
    if (v.is_none() || v.is_tensor()) return "None";
    if (v.isBool()) return "Bool";
    if (v.isInt() || v.is<ScalarType>()) return "Int";
    if (v.isDouble()) return "Double";
    if (v.isString()) return "String";
    if (v.isDevice()) return "Device";
    if (v.is<std::vector<int64_t>>()) {
      std::string s = "GenericList[";
      for (size_t i = 0; i < v.to_int_list().size(); i++) s += i ? ",Int" : "Int";
      return s + "]";
    }
    return v.kind();
  }

  static uint64_t thread() { return static_cast<uint64_t>(gettid()); }
  // This thread, which is a node under the root.
  Thread& here() {
    Thread& found = threads[thread()];
    if (found.id == 0) {
      found.id = next++;
      nodes.push_back("{\"id\": " + std::to_string(found.id) +
                      ", \"name\": \"[pytorch|profiler|execution_trace|thread]\", \"ctrl_deps\": 1, \"inputs\": " + Columns().object() +
                      ", \"outputs\": " + Columns().object() + ", \"attrs\": [" + attribute("tid", "uint64", std::to_string(thread())) + "]}");
    }
    return found;
  }
  static std::string attribute(const char* name, const char* type, const std::string& value) {
    return std::string("{\"name\": \"") + name + "\", \"type\": \"" + type + "\", \"value\": " + value + "}";
  }

  void begins(const Observation& what) {
    std::lock_guard lock(mutex);
    Columns inputs;
    if (what.op && what.inputs) {
      const size_t n = what.op->function_schema().arguments.size();
      for (size_t i = 0; i < n; i++) add(inputs, (*what.inputs)[what.inputs->size() - n + i]);
    }
    std::vector<Open>& stack = here().open;
    stack.push_back({next++, inputs.object()});
  }
  void ends(const Observation& what) {
    std::lock_guard lock(mutex);
    Thread& mine = here();
    std::vector<Open>& stack = mine.open;
    if (stack.empty()) return;
    const Open node = std::move(stack.back());
    stack.pop_back();
    Columns outputs;
    if (what.results)
      for (const Value& v : *what.results) add(outputs, v);
    const uint64_t parent = stack.empty() ? mine.id : stack.back().id;
    Event named;
    named.op = what.op;
    named.name = what.name;
    nodes.push_back("{\"id\": " + std::to_string(node.id) + ", \"name\": " + json_text(named.full_name()) + ", \"ctrl_deps\": " + std::to_string(parent) +
                    ", \"inputs\": " + node.inputs + ", \"outputs\": " + outputs.object() + ", \"attrs\": [" +
                    attribute("rf_id", "uint64", std::to_string(node.id)) + ", " + attribute("fw_parent", "uint64", "0") + ", " +
                    attribute("seq_id", "int64", std::to_string(what.sequence_nr)) + ", " +
                    attribute("scope", "uint64", std::to_string(static_cast<int>(what.scope))) + ", " + attribute("tid", "uint64", std::to_string(thread())) +
                    ", " + attribute("fw_tid", "uint64", "0") + ", " + attribute("op_schema", "string", json_text(what.op ? what.op->schema : "")) + "]}");
  }
};

ExecutionTrace::ExecutionTrace(std::string path) : state_(std::make_shared<State>()) { state_->path = std::move(path); }
ExecutionTrace::~ExecutionTrace() { stop(); }

void ExecutionTrace::start() {
  if (state_->observer) return;
  Observer observer;
  observer.wants_inputs = true;
  observer.begins = [state = state_](const Observation& what) { state->begins(what); };
  observer.ends = [state = state_](const Observation& what) { state->ends(what); };
  state_->observer = add_observer(std::move(observer));
  observe_thread(true);
}
void ExecutionTrace::stop() {
  if (!state_->observer) return;
  remove_observer(state_->observer);
  state_->observer = 0;
  observe_thread(false);
}
bool ExecutionTrace::is_running() const { return state_->observer != 0; }

void ExecutionTrace::write() const {
  std::lock_guard lock(state_->mutex);
  std::string text = "{\n  \"schema\": " + json_text(kSchema) + ", \"pid\": " + std::to_string(getpid()) + ",\n  \"nodes\": [\n" +
                     "{\"id\": 1, \"name\": \"[pytorch|profiler|execution_trace|process]\", \"ctrl_deps\": 1, \"inputs\": " + Columns().object() +
                     ", \"outputs\": " + Columns().object() + ", \"attrs\": []}";
  for (const std::string& node : state_->nodes) text += ",\n" + node;
  text += "\n  ]\n}\n";
  write_text(state_->path, text);
}

}  // namespace cresset::profile
