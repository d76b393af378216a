#pragma once
// Modules of TorchScript in C++: torch::jit::load, Module, Method, compile.

#include <iosfwd>
#include <unordered_map>

#include "cresset/base/util/interop.h"
#include "cresset/dispatch/values/dict.h"
#include "cresset/dispatch/values/list.h"
#include "cresset/graph/script/unit.h"

namespace cresset::graph::script {

using ExtraFilesMap = std::unordered_map<std::string, std::string>;
using Kwargs = std::unordered_map<std::string, Datum>;

// Runs a function with positional and keyword arguments. Errors: as Function::run; an unknown keyword.
CRESSET_API Datum call(Function& function, std::vector<Datum> arguments, const Kwargs& keywords = {});

inline Datum Function::operator()(std::vector<Datum> arguments, const Kwargs& keywords) { return call(*this, std::move(arguments), keywords); }

template <class T> struct Named {
  std::string name;
  T value;
};

// A place in a list of values.
template <class T> class SlotIterator {
 public:
  using SlotCursor = typename std::vector<T>::const_iterator;
  using iterator_category = std::forward_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = const T*;
  using reference = const T&;

  SlotIterator() = default;
  explicit SlotIterator(SlotCursor at) : at_(at) {}
  const T& operator*() const { return *at_; }
  const T* operator->() const { return &*at_; }
  SlotIterator& operator++() { return ++at_, *this; }
  SlotIterator operator++(int) { return SlotIterator(at_++); }
  friend bool operator==(const SlotIterator& a, const SlotIterator& b) { return a.at_ == b.at_; }
  friend bool operator!=(const SlotIterator& a, const SlotIterator& b) { return a.at_ != b.at_; }

 private:
  SlotCursor at_;
};

// Modules, parameters, ... in order.
template <class T> class SlotList {
 public:
  using value_type = T;
  using iterator = SlotIterator<T>;
  using const_iterator = iterator;
  SlotList() = default;
  explicit SlotList(std::vector<T> items) : items_(std::move(items)) {}
  iterator begin() const { return iterator(items_.begin()); }
  iterator end() const { return iterator(items_.end()); }
  size_t size() const { return items_.size(); }
  const T& operator[](size_t i) const { return items_.at(i); }

 private:
  std::vector<T> items_;
};

class Module;

class CRESSET_API Method {
 public:
  Method(Datum owner, Function* function) : owner_(std::move(owner)), function_(function) {}
  Datum operator()(std::vector<Datum> arguments, const Kwargs& keywords = {}) const;
  // The call as a task, given to `launcher`, whose future has the result or the error.
  intrusive_ptr<FutureObject> run_async(std::vector<Datum> arguments, const Kwargs& keywords = {},
                                        const std::function<void(std::function<void()>)>& launcher = cresset::launch) const {
    const auto future = make_intrusive<FutureObject>(function_->schema.returns.empty() ? Type() : function_->schema.returns[0]);
    launcher([method = *this, arguments = std::move(arguments), keywords, future]() mutable {
      try {
        future->markCompleted(method(std::move(arguments), keywords));
      } catch (...) { future->setError(std::current_exception()); }
    });
    return future;
  }
  std::string name() const { return short_name(function_->name); }
  Function& function() const { return *function_; }
  Module owner() const;
  // LibTorch's name: the graph, as <torch/csrc/jit/ir/ir.h> has it.
  template <class F = Function> auto graph() const { return libtorch_graph(static_cast<F&>(*function_)); }
  size_t num_inputs() const { return function_->schema.arguments.size(); }

 private:
  Datum owner_;
  Function* function_;
};

// A handle: copies are the same module. Methods raise what the program raises.
class CRESSET_API Module {
 public:
  // A module without attributes or methods, to which they are added.
  Module();
  explicit Module(const std::string& class_name);
  explicit Module(const char* class_name) : Module(std::string(class_name)) {}
  Module(std::string class_name, std::shared_ptr<CompilationUnit> unit, bool = false);
  // Errors: TypeError, the value is no module.
  explicit Module(Datum value);

  Datum forward(std::vector<Datum> inputs, const Kwargs& keywords = {}) { return get_method("forward")(std::move(inputs), keywords); }
  Datum operator()(std::vector<Datum> inputs) { return forward(std::move(inputs)); }
  // Errors: there is no such method.
  Method get_method(const std::string& name) const;
  std::optional<Method> find_method(const std::string& name) const;
  std::vector<Method> get_methods() const;
  template <class... Args> Datum run_method(const std::string& name, Args&&... args) {
    return get_method(name)(std::vector<Datum>{Datum(std::forward<Args>(args))...});
  }
  // Compiles methods of a text: "def forward(self, x): ...".
  void define(const std::string& text);
  // The method of another module as one of this class, which has the attributes that it reads. Errors: there is no such method.
  void clone_method(const Module& from, const std::string& name);
  // A module of a class of its own, with the same values, without some attributes and methods. Errors: as clone_method.
  Module copy_without(const std::vector<std::string>& names) const;
  // An object of a new class of modules, without attributes.
  static intrusive_ptr<dispatch::Object> create_class(const std::string& class_name, std::shared_ptr<CompilationUnit> unit, bool = false);

  bool hasattr(const std::string& name) const;
  // Errors: there is no such attribute.
  Datum attr(const std::string& name) const;
  Datum attr(const std::string& name, Datum otherwise) const { return hasattr(name) ? attr(name) : std::move(otherwise); }
  // Errors: there is none, or it is of another type.
  void setattr(const std::string& name, Datum value) const;
  void register_parameter(const std::string& name, Tensor value, bool is_buffer);
  void register_buffer(const std::string& name, Tensor value);
  void register_attribute(const std::string& name, const Type& type, Datum value, bool is_parameter = false, bool is_buffer = false);
  void register_module(const std::string& name, const Module& module);

  SlotList<Tensor> parameters(bool recurse = true) const;
  SlotList<Named<Tensor>> named_parameters(bool recurse = true) const;
  SlotList<Tensor> buffers(bool recurse = true) const;
  SlotList<Named<Tensor>> named_buffers(bool recurse = true) const;
  SlotList<Module> modules() const;  // itself first
  SlotList<Named<Module>> named_modules() const;
  SlotList<Module> children() const;
  SlotList<Named<Module>> named_children() const;
  SlotList<Datum> attributes(bool recurse = true) const;
  SlotList<Named<Datum>> named_attributes(bool recurse = true) const;

  void train(bool on = true);
  void eval() { train(false); }
  bool is_training() const { return attr("training", Datum(true)).toBool(); }
  void to(Device device, ScalarType dtype, bool non_blocking = false);
  void to(ScalarType dtype, bool non_blocking = false);
  void to(Device device, bool non_blocking = false);
  void apply(const std::function<void(Module&)>& f);
  // Inputs of a method, kept for those who ask for examples of them; they are no part of archives.
  void store_traced_inputs(const std::string& method, std::vector<Datum> inputs);
  Dict<std::string, List<Datum>> retrieve_traced_inputs() const;
  // Memory that lives as long as the module: that of tensors made of a buffer.
  void set_delete_memory(std::shared_ptr<char> memory);
  bool is_optimized() const { return true; }
  void set_optimized(bool) {}

  Module copy() const;  // other slots, the same tensors and objects
  Module deepcopy(std::optional<Device> device = {}) const;
  Module clone(bool inplace = false) const { return inplace ? copy() : deepcopy(); }

  // The archive. Errors: the file cannot be written, and is not there then.
  void save(const std::string& path, const ExtraFilesMap& extra = {}) const;
  void save(std::ostream& out, const ExtraFilesMap& extra = {}) const;
  // LibTorch's name: a file of the lite interpreter, to a path or a stream, as <torch/csrc/jit/serialization/export.h> writes it.
  template <class To> void _save_for_mobile(To&& to, const ExtraFilesMap& extra = {}, bool save_mobile_debug_info = false, bool use_flatbuffer = false) const {
    libtorch_save_for_mobile(*this, to, extra, save_mobile_debug_info, use_flatbuffer);
  }
  std::string dump_to_str(bool code = true, bool attributes = true, bool parameters = true) const;
  void dump(bool code = true, bool attributes = true, bool parameters = true) const;

  ClassType* type() const { return object().cls; }
  const Datum& _ivalue() const { return value_; }
  ScriptObject& object() const;
  friend bool operator==(const Module& a, const Module& b) { return a.value_.is(b.value_); }

 private:
  Datum value_;
};

CRESSET_API Module load(const std::string& path, std::optional<Device> device = {}, bool load_debug_files = true);
CRESSET_API Module load(const std::string& path, std::optional<Device> device, ExtraFilesMap& extra, bool load_debug_files = true);
CRESSET_API Module load(std::istream& in, std::optional<Device> device = {}, bool load_debug_files = true);
CRESSET_API Module load(std::istream& in, std::optional<Device> device, ExtraFilesMap& extra, bool load_debug_files = true);
// The same, kept alive by the unit, too.
CRESSET_API Module import_ir_module(const std::shared_ptr<CompilationUnit>& unit, const std::string& path, std::optional<Device> device = {},
                                    bool load_debug_files = true);
CRESSET_API Module import_ir_module(const std::shared_ptr<CompilationUnit>& unit, std::istream& in, std::optional<Device> device = {},
                                    bool load_debug_files = true);
CRESSET_API Module import_ir_module(const std::shared_ptr<CompilationUnit>& unit, const std::string& path, std::optional<Device> device, ExtraFilesMap& extra,
                                    bool load_debug_files = true);
CRESSET_API Module import_ir_module(const std::shared_ptr<CompilationUnit>& unit, std::istream& in, std::optional<Device> device, ExtraFilesMap& extra,
                                    bool load_debug_files = true);
// From the bytes of an archive.
CRESSET_API Module parse_and_initialize_jit_module(const std::shared_ptr<char>& data, size_t size, ExtraFilesMap& extra, std::optional<Device> device = {});
// Further files for each archive that is written; a caller's own files of the same names go before them. An empty function: none.
using ExportModuleExtraFilesHook = std::function<ExtraFilesMap(const Module&)>;
CRESSET_API void SetExportModuleExtraFilesHook(ExportModuleExtraFilesHook hook);
CRESSET_API Module freeze(const Module& module, const std::optional<std::vector<std::string>>& preserved = {}, bool optimize_numerics = true);
CRESSET_API Module optimize_for_inference(Module& module, const std::vector<std::string>& other_methods = {});
CRESSET_API std::vector<std::string> export_opnames(const Module& module);
// Functions of a text.
CRESSET_API std::shared_ptr<CompilationUnit> compile(const std::string& source);

enum class FusionBehavior : uint8_t { STATIC, DYNAMIC };
using FusionStrategy = std::vector<std::pair<FusionBehavior, size_t>>;
// Kept for those who ask, with a warning that there is one way to run programs. Returns the former one.
CRESSET_API FusionStrategy setFusionStrategy(FusionStrategy& strategy);
CRESSET_API FusionStrategy getFusionStrategy();

}  // namespace cresset::graph::script
