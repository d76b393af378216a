#include "cresset/profile/chrome_trace.h"

#include <unistd.h>

#include <cstdio>

#include "cresset/profile/json.h"

namespace cresset::profile {

namespace {

// Microseconds with all digits of the nanoseconds.
std::string micros(int64_t ns) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%lld.%03lld", static_cast<long long>(ns / 1000), static_cast<long long>(ns % 1000));
  return buffer;
}

// One entry for each argument: a list of numbers, or of lists of numbers.
std::string lists(const std::vector<InputFact>& inputs, const std::vector<std::vector<int64_t>> InputFact::*field) {
  std::string s = "[";
  for (const InputFact& fact : inputs) {
    std::string one;
    if (fact.is_list) {
      one = "[";
      for (const auto& each : fact.*field) one += (one.size() > 1 ? ", " : "") + json_list(each);
      one += "]";
    } else {
      one = (fact.*field).empty() ? "[]" : json_list((fact.*field)[0]);
    }
    s += (s.size() > 1 ? ", " : "") + one;
  }
  return s + "]";
}

std::string texts(const std::vector<InputFact>& inputs, const std::string InputFact::*field) {
  std::string s = "[";
  for (const InputFact& fact : inputs) s += (s.size() > 1 ? ", " : "") + json_text(fact.*field);
  return s + "]";
}

class Writer {
 public:
  Writer(const Trace& trace, std::string title) : trace_(trace), title_(std::move(title)), pid_(std::to_string(getpid())) {}

  std::string document(const std::map<std::string, std::string>& metadata) {
    head(metadata);
    process();
    for (const ThreadLog& log : trace_.threads) {
      thread(log);
      for (const Event& e : log.events) event(log, e);
    }
    arrows();
    for (const ThreadLog& log : trace_.threads)
      for (const MemoryEvent& e : log.memory) memory(log, e);
    out_ += "\n  ],\n  \"traceName\": " + json_text(title_) +
            ",\n  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": " + std::to_string(trace_.start_unix_ns) + "\n}\n";
    return std::move(out_);
  }

 private:
  void head(const std::map<std::string, std::string>& metadata) {
    out_ = "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [],\n";
    if (trace_.shapes) out_ += "  \"record_shapes\": 1,\n";
    if (trace_.memory) out_ += "  \"profile_memory\": 1,\n";
    if (trace_.flops) out_ += "  \"with_flops\": 1,\n";
    if (trace_.stack) out_ += "  \"with_stack\": 1,\n";
    for (const auto& [key, json] : metadata) out_ += "  " + json_text(key) + ": " + json + ",\n";
    out_ += "  \"traceEvents\": [";
  }
  void open_object(const char* phase) {
    out_ += first_ ? "\n  {\"ph\": \"" : ",\n  {\"ph\": \"";
    out_ += phase;
    out_ += "\"";
    first_ = false;
  }
  void named(const char* kind, const std::string& tid, const std::string& args) {
    open_object("M");
    out_ += std::string(", \"name\": \"") + kind + "\", \"ts\": 0.000, \"pid\": " + pid_ + ", \"tid\": " + tid + ", \"args\": {" + args + "}}";
  }
  void process() {
    named("process_name", "0", "\"name\": \"python\"");
    named("process_labels", "0", "\"labels\": \"CPU\"");
    named("process_sort_index", "0", "\"sort_index\": " + pid_);
  }
  void thread(const ThreadLog& log) {
    const std::string tid = std::to_string(log.system_thread);
    named("thread_name", tid, "\"name\": \"thread " + tid + "\"");
    named("thread_sort_index", tid, "\"sort_index\": " + tid);
  }

  void event(const ThreadLog& log, const Event& e) {
    open_object("X");
    const bool user = e.scope == Scope::User;
    out_ += std::string(", \"cat\": \"") + (user ? "user_annotation" : "cpu_op") + "\", \"name\": " + json_text(e.full_name()) + ", \"pid\": " + pid_ +
            ", \"tid\": " + std::to_string(log.system_thread) + ", \"ts\": " + micros(e.start_ns) + ", \"dur\": " + micros(e.end_ns - e.start_ns) +
            ", \"args\": {\"External id\": " + std::to_string(number_ + 1) + ", \"Record function id\": 0, \"Ev Idx\": " + std::to_string(number_);
    if (e.sequence_nr >= 0) out_ += ", \"Sequence number\": " + std::to_string(e.sequence_nr) + ", \"Fwd thread id\": " + std::to_string(e.forward_thread);
    if (e.is_step) out_ += ", \"Step\": true";
    if (trace_.shapes && !e.inputs.empty())
      out_ += ", \"Input Dims\": " + lists(e.inputs, &InputFact::sizes) + ", \"Input Strides\": " + lists(e.inputs, &InputFact::strides) +
              ", \"Input type\": " + texts(e.inputs, &InputFact::type) + ", \"Concrete Inputs\": " + texts(e.inputs, &InputFact::value);
    if (e.flops) out_ += ", \"flops\": " + std::to_string(e.flops);
    if (!e.module.empty()) out_ += ", \"Module Hierarchy\": " + json_text(e.module);
    if (!e.stack.empty()) {
      std::string stack;
      for (const std::string& frame : e.stack) stack += (stack.empty() ? "" : ";\n") + frame;
      out_ += ", \"Call stack\": " + json_text(stack);
    }
    out_ += "}}";
    number_++;
  }
  // From the calls to the nodes that they recorded.
  void arrows() {
    const ForwardCalls forward(trace_);
    int64_t id = 0;
    for (const ThreadLog& log : trace_.threads)
      for (const Event& e : log.events) {
        const ForwardCalls::Call from = e.scope == Scope::BackwardFunction ? forward.of(log, e) : ForwardCalls::Call();
        if (!from.event) continue;
        const std::string which = ", \"id\": " + std::to_string(++id) + ", \"cat\": \"fwdbwd\", \"name\": \"fwdbwd\", \"pid\": " + pid_ + ", \"tid\": ";
        open_object("s");
        out_ += which + std::to_string(from.log->system_thread) + ", \"ts\": " + micros(from.event->start_ns) + "}";
        open_object("f");
        out_ += which + std::to_string(log.system_thread) + ", \"ts\": " + micros(e.start_ns) + ", \"bp\": \"e\"}";
      }
  }
  void memory(const ThreadLog& log, const MemoryEvent& e) {
    open_object("i");
    out_ += ", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\", \"pid\": " + pid_ + ", \"tid\": " + std::to_string(log.system_thread) +
            ", \"ts\": " + micros(e.time_ns) + ", \"args\": {\"Total Reserved\": 0, \"Total Allocated\": " + std::to_string(e.total) +
            ", \"Bytes\": " + std::to_string(e.bytes) + ", \"Device Id\": " + std::to_string(e.device.index()) +
            ", \"Device Type\": " + std::to_string(static_cast<int>(e.device.type())) + ", \"Addr\": " + std::to_string(e.address) +
            ", \"Ev Idx\": " + std::to_string(number_++) + "}}";
  }

  const Trace& trace_;
  std::string title_, pid_, out_;
  bool first_ = true;
  int64_t number_ = 0;
};

}  // namespace

std::string chrome_trace(const Trace& trace, const std::string& title, const std::map<std::string, std::string>& metadata) {
  return Writer(trace, title).document(metadata);
}

void write_chrome_trace(const Trace& trace, const std::string& path, const std::map<std::string, std::string>& metadata) {
  write_text(path, chrome_trace(trace, path, metadata));
}

}  // namespace cresset::profile
