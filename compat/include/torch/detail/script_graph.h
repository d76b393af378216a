#pragma once
// Graphs of TorchScript as LibTorch programs walk and change them, over those of cresset/graph/ir/graph.h. Nodes, values and blocks live as long as the Graph
// that gave them, and are its parts; a change of one changes the function that it belongs to. Constants, which are values there, have nodes of their own here.

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ATen/core/symbol.h"
#include "cresset/graph/ir/alias.h"
#include "cresset/graph/passes/passes.h"
#include "cresset/graph/script/ir/ir_text.h"
#include "cresset/graph/script/print.h"
#include "torch/detail/script_objects.h"
#include "torch/library.h"

namespace torch::jit {

namespace attr {
using c10::Symbol;
inline const Symbol value = Symbol::attr("value");
inline const Symbol name = Symbol::attr("name");
inline const Symbol types = Symbol::attr("types");
}  // namespace attr

class Block;
class Graph;
class Node;
class Value;
using NodeKind = c10::Symbol;

struct Use {
  Node* user;
  size_t offset;  // which of its inputs
  friend bool operator==(const Use& a, const Use& b) { return a.user == b.user && a.offset == b.offset; }
};
using use_list = std::vector<Use>;

enum class AttributeKind : uint8_t { f, fs, c, cs, i, is, s, ss, t, ts, g, gs, ty, tys, ival };

namespace detail {
namespace ir = cresset::graph;

// A list that parts keep, so that those who walk it may ask for it again: it is written where it has changed.
template <class T> at::ArrayRef<T*> kept(std::vector<T*>& list, std::vector<T*> now) {
  if (list != now) list = std::move(now);
  return list;
}
}  // namespace detail

class Value {
 public:
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;

  c10::TypePtr type() const { return c10::type_of(is_none() ? detail::ir::Type(detail::ir::TypeKind::None) : own_->type()); }
  Value* setType(const c10::TypePtr& type);
  void inferTypeFrom(const at::Tensor& like) { setType(c10::TensorType::create(like)); }
  bool isCompleteTensor() const {
    const auto tensor = type().cast<c10::TensorType>();
    return tensor && tensor->isComplete();
  }
  bool requires_grad() const {
    const auto tensor = type().cast<c10::TensorType>();
    return tensor && tensor->requiresGrad().value_or(false);
  }
  size_t unique() const { return reinterpret_cast<size_t>(own_); }
  bool hasDebugName() const { return !own_->name().empty(); }
  std::string debugName() const;
  Value* setDebugName(const std::string& name) { return own_->set_name(name), this; }
  Value* copyMetadata(Value* from) { return setType(from->type()); }
  bool mustBeNone() const { return is_none(); }
  bool mustNotBeNone() const { return !is_none() && own_->type().kind() != detail::ir::TypeKind::Optional; }

  // That of a constant, or of the parameters of a block, where no other makes it.
  Node* node() const;
  size_t offset() const { return own_->index(); }
  Graph* owningGraph() const { return graph_; }
  use_list uses() const;
  bool hasUses() const { return !uses().empty(); }
  void replaceAllUsesWith(Value* other);
  void replaceAllUsesAfterNodeWith(const Node* node, Value* other);
  detail::ir::Value* own() const { return own_; }

 private:
  friend class Graph;
  Value(Graph* graph, detail::ir::Value* own) : graph_(graph), own_(own) {}
  bool is_none() const {
    return own_->is_constant() && (own_->constant()->is_none() || (own_->constant()->is_tensor() && !own_->constant()->to_tensor().defined()));
  }

  Graph* graph_;
  detail::ir::Value* own_;
};

class Node {
 public:
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  NodeKind kind() const;
  at::ArrayRef<Value*> inputs() const;
  at::ArrayRef<Value*> outputs() const;
  at::ArrayRef<Block*> blocks() const;
  Value* input(size_t i) const { return inputs().vec().at(i); }
  Value* output(size_t i) const { return outputs().vec().at(i); }
  // Errors: there is not one.
  Value* input() const { return only(inputs(), "input"); }
  Value* output() const { return only(outputs(), "output"); }
  // By the name that the schema has for it. Errors: there is none.
  Value* namedInput(const std::string& name) const;
  Value* namedInput(NodeKind name) const { return namedInput(name.toUnqualString()); }
  bool hasNamedInput(const std::string& name) const { return maybeSchema() && maybeSchema()->argumentIndexWithName(name); }
  // The value of an input that is a constant. Nothing: it is none.
  std::optional<c10::IValue> get(NodeKind name) const;
  template <class T> std::optional<T> get(NodeKind name) const {
    const auto value = get(name);
    return value ? std::optional<T>(value->template to<T>()) : std::nullopt;
  }
  bool is_constant(NodeKind name) const { return get(name).has_value(); }
  bool hasUses() const {
    return std::any_of(outputs().begin(), outputs().end(), [](const Value* v) { return v->hasUses(); });
  }
  bool hasSideEffects() const { return own_ && detail::ir::has_side_effects(*own_); }
  bool isNondeterministic() const { return own_ && !detail::ir::is_deterministic(*own_) && !hasSideEffects(); }
  bool mustBeNone() const { return constant_ && outputs()[0]->mustBeNone(); }

  // Of operators and functions of the language. Null: the node is structure, or of another format.
  const c10::FunctionSchema* maybeSchema() const;
  // Errors: it has none.
  const c10::FunctionSchema& schema() const {
    TORCH_CHECK(maybeSchema(), "schema: the node ", kind().toQualString(), " has none");
    return *maybeSchema();
  }
  // Whether it calls the operator of a schema: of this name, with arguments of these types.
  bool matches(const char* signature) const;

  std::vector<NodeKind> attributeNames() const;
  bool hasAttributes() const { return !attributeNames().empty(); }
  bool hasAttribute(NodeKind name) const { return find_attribute(name) != nullptr; }
  AttributeKind kindOf(NodeKind name) const;
  c10::IValue ival(NodeKind name) const { return attribute(name); }
  int64_t i(NodeKind name) const { return attribute(name).toInt(); }
  double f(NodeKind name) const { return attribute(name).toDouble(); }
  std::string s(NodeKind name) const { return attribute(name).to_string(); }
  at::Tensor t(NodeKind name) const { return attribute(name).toTensor(); }
  std::vector<int64_t> is(NodeKind name) const { return attribute(name).toIntVector(); }
  std::vector<double> fs(NodeKind name) const { return attribute(name).toDoubleVector(); }
  std::vector<std::string> ss(NodeKind name) const;
  // Of nodes of other formats. Errors: others have theirs as inputs.
  Node* i_(NodeKind name, int64_t value) { return set(name, c10::IValue(value)); }
  Node* f_(NodeKind name, double value) { return set(name, c10::IValue(value)); }
  Node* s_(NodeKind name, std::string value) { return set(name, c10::IValue(std::move(value))); }
  Node* t_(NodeKind name, at::Tensor value) { return set(name, c10::IValue(std::move(value))); }
  Node* is_(NodeKind name, std::vector<int64_t> value) { return set(name, c10::IValue(std::move(value))); }
  Node* fs_(NodeKind name, std::vector<double> value) { return set(name, c10::IValue(std::move(value))); }
  Node* ival_(NodeKind name, c10::IValue value) { return set(name, std::move(value)); }
  Node* removeAttribute(NodeKind name);

  Graph* owningGraph() const { return graph_; }
  Block* owningBlock() const;
  // The return node comes last, and null behind it.
  Node* next() const;
  Node* prev() const;
  bool isBefore(const Node* other) const;
  bool isAfter(const Node* other) const { return other->isBefore(this); }
  // "file:line:column"; empty where it is unknown.
  std::string sourceRange() const;
  // Names of the modules around, which graphs here do not keep.
  std::string scopeName() const { return ""; }

  Value* addInput(Value* value);
  Value* insertInput(size_t i, Value* value);
  // Gives the former one.
  Value* replaceInput(size_t i, Value* value);
  void replaceInputWith(Value* from, Value* to);
  void removeInput(size_t i);
  void removeAllInputs() { set_inputs({}); }
  Value* addOutput();
  void eraseOutput(size_t i);
  Block* addBlock();
  Node* insertBefore(Node* other);
  Node* insertAfter(Node* other);
  void moveBefore(Node* other) { insertBefore(other); }
  void moveAfter(Node* other) { insertAfter(other); }
  void replaceAllUsesWith(Node* other);
  Node* copyMetadata(Node* from);
  // Takes it out of the graph. Errors: its outputs are used.
  void destroy();
  void dump() const;
  // Null for constants and parameters.
  detail::ir::Node* own() const { return own_; }

 private:
  friend class Block;
  friend class Graph;
  friend class Value;
  explicit Node(Graph* graph) : graph_(graph) {}
  Value* only(at::ArrayRef<Value*> list, const char* what) const {
    TORCH_CHECK(list.size() == 1, kind().toQualString(), ": expected one ", what, ", got ", list.size());
    return list[0];
  }
  const c10::IValue* find_attribute(NodeKind name) const;
  const c10::IValue& attribute(NodeKind name) const {
    const c10::IValue* const found = find_attribute(name);
    TORCH_CHECK(found, "the node ", kind().toQualString(), " has no attribute ", name.toUnqualString());
    return *found;
  }
  Node* set(NodeKind name, c10::IValue value);
  void set_inputs(const std::vector<Value*>& values);

  Graph* graph_;
  detail::ir::Node* own_ = nullptr;
  detail::ir::Value* constant_ = nullptr;  // of the node of a constant
  detail::ir::Block* block_ = nullptr;     // of the node of a block's parameters
  size_t place_ = 0;                       // of a constant, among those of the graph
  mutable detail::ir::script::NodeView view_;
  mutable std::vector<Value*> inputs_, outputs_;
  mutable std::vector<Block*> blocks_;
  mutable std::optional<c10::FunctionSchema> schema_;
};

// Nodes in order, up to the return node.
class graph_node_list_iterator {
 public:
  using iterator_category = std::bidirectional_iterator_tag;
  using value_type = Node*;
  using difference_type = std::ptrdiff_t;
  using pointer = Node**;
  using reference = Node*;
  graph_node_list_iterator() = default;
  graph_node_list_iterator(Node* at, bool is_reverse) : at_(at), is_reverse_(is_reverse) {}
  Node* operator*() const { return at_; }
  Node* operator->() const { return at_; }
  graph_node_list_iterator& operator++() { return at_ = is_reverse_ ? at_->prev() : at_->next(), *this; }
  graph_node_list_iterator& operator--() { return at_ = is_reverse_ ? at_->next() : at_->prev(), *this; }
  graph_node_list_iterator operator++(int) {
    const graph_node_list_iterator before = *this;
    return ++*this, before;
  }
  graph_node_list_iterator operator--(int) {
    const graph_node_list_iterator before = *this;
    return --*this, before;
  }
  // Destroys the node; the next step goes on behind it.
  void destroyCurrent() {
    Node* const gone = at_;
    --*this;
    gone->destroy();
  }
  friend bool operator==(graph_node_list_iterator a, graph_node_list_iterator b) { return a.at_ == b.at_; }
  friend bool operator!=(graph_node_list_iterator a, graph_node_list_iterator b) { return a.at_ != b.at_; }

 private:
  Node* at_ = nullptr;
  bool is_reverse_ = false;
};
class graph_node_list {
 public:
  using iterator = graph_node_list_iterator;
  using const_iterator = iterator;
  graph_node_list(Node* parameters, Node* results, bool is_reverse) : parameters_(parameters), results_(results), is_reverse_(is_reverse) {}
  iterator begin() const { return ++iterator(is_reverse_ ? results_ : parameters_, is_reverse_); }
  iterator end() const { return {is_reverse_ ? parameters_ : results_, is_reverse_}; }
  iterator rbegin() const { return reverse().begin(); }
  iterator rend() const { return reverse().end(); }
  graph_node_list reverse() const { return {parameters_, results_, !is_reverse_}; }
  Node* front() const { return *begin(); }
  Node* back() const { return *reverse().begin(); }
  bool empty() const { return begin() == end(); }

 private:
  Node *parameters_, *results_;
  bool is_reverse_;
};

class Block {
 public:
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  at::ArrayRef<Value*> inputs() const;
  at::ArrayRef<Value*> outputs() const { return return_node()->inputs(); }
  graph_node_list nodes() const;
  Node* param_node() const;
  Node* return_node() const;
  // Null for the block of the graph itself.
  Node* owningNode() const;
  Graph* owningGraph() const { return graph_; }
  Value* addInput(const std::string& name = "");
  void eraseInput(size_t i);
  // Input `order[i]` becomes number i.
  void permuteInputs(const std::vector<size_t>& order);
  size_t registerOutput(Value* value) { return return_node()->addInput(value), outputs().size() - 1; }
  void eraseOutput(size_t i) { return_node()->removeInput(i); }
  void replaceOutput(size_t i, Value* value) { return_node()->replaceInput(i, value); }
  Node* appendNode(Node* node) { return node->insertBefore(return_node()); }
  Node* prependNode(Node* node) { return node->insertAfter(param_node()); }
  detail::ir::Block* own() const { return own_; }

 private:
  friend class Graph;
  Block(Graph* graph, detail::ir::Block* own) : graph_(graph), own_(own) {}
  Graph* graph_;
  detail::ir::Block* own_;
  mutable std::vector<Value*> inputs_;
};

// A value, or what a constant is made of.
struct NamedValue {
  NamedValue(Value* v) : value(v) {}
  NamedValue(c10::IValue v) : constant(std::move(v)) {}
  template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>> NamedValue(T v) : constant(v) {}
  Value* value = nullptr;
  c10::IValue constant;
};

class Graph : public std::enable_shared_from_this<Graph> {
 public:
  Graph() : owner_(std::make_shared<detail::ir::Graph>()), own_(owner_.get()) {}
  explicit Graph(std::shared_ptr<detail::ir::Graph> own) : owner_(std::move(own)), own_(owner_.get()) {}
  // Of a function, which outlives it.
  explicit Graph(Function& function) : own_(function.graph.get()), function_(&function) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Block* block() const { return part(&own_->block()); }
  at::ArrayRef<Value*> inputs() const { return block()->inputs(); }
  at::ArrayRef<Value*> outputs() const { return block()->outputs(); }
  graph_node_list nodes() const { return block()->nodes(); }
  Node* param_node() const { return block()->param_node(); }
  Node* return_node() const { return block()->return_node(); }

  Value* addInput(const std::string& name = "") { return block()->addInput(name); }
  void eraseInput(size_t i) { block()->eraseInput(i); }
  size_t registerOutput(Value* value) { return block()->registerOutput(value); }
  void eraseOutput(size_t i) { block()->eraseOutput(i); }
  void permuteInputs(const std::vector<size_t>& order) { block()->permuteInputs(order); }

  // A node that stands nowhere yet. An operator is the variant that takes the inputs, and its other arguments have their defaults.
  Node* create(NodeKind kind, size_t num_outputs = 1) { return create(kind, at::ArrayRef<Value*>(), num_outputs); }
  Node* create(NodeKind kind, at::ArrayRef<Value*> inputs, size_t num_outputs = 1);
  Node* createGetAttr(Value* object, const std::string& name) { return create_with(c10::Symbol::prim("GetAttr"), {object}, {{"name", c10::IValue(name)}}); }
  Node* createSetAttr(Value* object, const std::string& name, Value* value) {
    return create_with(c10::Symbol::prim("SetAttr"), {object, value}, {{"name", c10::IValue(name)}});
  }
  Node* createTuple(at::ArrayRef<Value*> values) { return create(c10::Symbol::prim("TupleConstruct"), values); }
  Node* createList(const c10::TypePtr& element, at::ArrayRef<Value*> values) {
    Node* const node = create(c10::Symbol::prim("ListConstruct"), values);
    node->output()->setType(c10::ListType::create(element));
    return node;
  }
  Node* createTupleUnpack(Value* tuple) { return create(c10::Symbol::prim("TupleUnpack"), {tuple}, tuple->type()->containedTypeSize()); }
  Node* createListUnpack(Value* list, size_t size) { return create(c10::Symbol::prim("ListUnpack"), {list}, size); }
  Value* insertGetAttr(Value* object, const std::string& name) { return insertNode(createGetAttr(object, name))->output(); }
  Node* appendNode(Node* node) { return block()->appendNode(node); }
  Node* prependNode(Node* node) { return block()->prependNode(node); }
  // At the point of insertion.
  Node* insertNode(Node* node) { return node->insertBefore(insertPoint()); }
  Value* insertConstant(c10::IValue value);
  Value* insert(NodeKind kind, const std::vector<NamedValue>& arguments);

  // Before a node, or at the end of a block. From the start at the end of the graph.
  void setInsertPoint(Block* block) { insert_before_ = block->return_node(); }
  void setInsertPoint(Node* node) { insert_before_ = node; }
  Node* insertPoint() const { return insert_before_ ? insert_before_ : return_node(); }

  std::shared_ptr<Graph> copy() const { return std::make_shared<Graph>(std::shared_ptr<detail::ir::Graph>(own_->clone())); }
  // Errors: the first thing that is wrong.
  void lint() const { own_->verify(); }
  std::string toString(bool print_source_locations = true) const;
  void dump() const;
  friend std::ostream& operator<<(std::ostream& out, const Graph& graph) { return out << graph.toString(); }

  // The room's own, which functions of it take.
  detail::ir::Graph& own() const { return *own_; }
  // Parts of `own()`.
  Value* part(detail::ir::Value* v) const;
  Node* part(detail::ir::Node* n) const;
  Block* part(detail::ir::Block* b) const;
  // After `own()` was changed.
  void changed() {
    if (function_) function_->forget_program();
  }
  // The same after passes, which may have taken parts out.
  void changed_by_pass();

 private:
  friend class Block;
  friend class Node;
  friend class Value;
  Node* create_with(NodeKind kind, const std::vector<Value*>& inputs, const std::vector<std::pair<std::string, c10::IValue>>& attributes);
  Node* constant_node(detail::ir::Value* v) const;
  Node* parameters_of(detail::ir::Block* b) const;
  // The nodes of the constants that nodes read, in order.
  const std::vector<Node*>& constants() const;
  void forget(const detail::ir::Node& n) const;

  std::shared_ptr<detail::ir::Graph> owner_;
  detail::ir::Graph* own_;
  Function* function_ = nullptr;
  Node* insert_before_ = nullptr;
  mutable std::unordered_map<const void*, std::unique_ptr<Value>> values_;
  mutable std::unordered_map<const void*, std::unique_ptr<Node>> nodes_;  // by node, by the value of a constant, by the block of parameters
  mutable std::unordered_map<const void*, std::unique_ptr<Block>> blocks_;
  mutable std::vector<Node*> constants_;
};

// Another point of insertion in a scope.
struct WithInsertPoint {
  explicit WithInsertPoint(Node* node) : before_(node->owningGraph()->insertPoint()) { node->owningGraph()->setInsertPoint(node); }
  explicit WithInsertPoint(Block* block) : WithInsertPoint(block->return_node()) {}
  ~WithInsertPoint() { before_->owningGraph()->setInsertPoint(before_); }
  WithInsertPoint(const WithInsertPoint&) = delete;
  WithInsertPoint& operator=(const WithInsertPoint&) = delete;

 private:
  Node* before_;
};

// The value of a constant. Nothing: it is known only when the program runs.
inline std::optional<c10::IValue> toIValue(const Value* v) {
  return v->own()->is_constant() ? std::optional<c10::IValue>(*v->own()->constant()) : std::nullopt;
}
template <class T> std::optional<T> constant_as(const Value* v) {
  const auto value = toIValue(v);
  return value && !value->isNone() ? std::optional<T>(value->template to<T>()) : std::nullopt;
}
// Copies the nodes of another graph to the point of insertion, with these inputs: the values of its results.
inline std::vector<Value*> insertGraph(Graph& graph, Graph& callee, at::ArrayRef<Value*> inputs) {
  const auto& parameters = callee.own().block().parameters();
  TORCH_CHECK(inputs.size() == parameters.size(), "insertGraph: expected ", parameters.size(), " values, got ", inputs.size());
  std::vector<detail::ir::Value*> given;
  for (const Value* v : inputs) given.push_back(v->own());
  std::vector<Value*> out;
  for (detail::ir::Value* v : detail::ir::copy_nodes(callee.own(), given, graph.own(), graph.insertPoint()->own())) out.push_back(graph.part(v));
  graph.changed();
  return out;
}

// ---- values

inline std::string Value::debugName() const { return own_->is_constant() ? cresset::graph::script::constant_names(graph_->own()).at(own_) : own_->name(); }
inline Value* Value::setType(const c10::TypePtr& type) {
  own_->set_type(c10::graph_type_of(type));
  graph_->changed();
  return this;
}
inline Node* Value::node() const {
  if (own_->is_constant()) return graph_->constant_node(own_);
  return own_->node() ? graph_->part(own_->node()) : graph_->parameters_of(own_->block());
}
inline use_list Value::uses() const {
  use_list out;
  for (const detail::ir::Use& u : own_->uses()) {
    const std::vector<size_t> shown = cresset::graph::script::view_of(*u.node).inputs;
    const auto place = std::find(shown.begin(), shown.end(), u.input);
    if (place != shown.end()) out.push_back({graph_->part(u.node), static_cast<size_t>(place - shown.begin())});
  }
  return out;
}
inline void Value::replaceAllUsesWith(Value* other) {
  own_->replace_uses_with(other->own_);
  graph_->changed();
}
inline void Value::replaceAllUsesAfterNodeWith(const Node* node, Value* other) {
  for (const Use& u : uses())
    if (u.user->isAfter(node)) u.user->replaceInput(u.offset, other);
}

// ---- nodes

inline NodeKind Node::kind() const {
  if (own_) return NodeKind::fromQualString(cresset::graph::script::kind_of(*own_));
  return NodeKind::prim(constant_ ? "Constant" : "Param");
}
inline at::ArrayRef<Value*> Node::inputs() const {
  std::vector<Value*> now;
  if (own_)
    for (const size_t i : cresset::graph::script::view_of(*own_).inputs) now.push_back(graph_->part(own_->input(i)));
  return detail::kept(inputs_, std::move(now));
}
inline at::ArrayRef<Value*> Node::outputs() const {
  if (block_) return graph_->part(block_)->inputs();
  std::vector<Value*> now;
  if (constant_) now.push_back(graph_->part(constant_));
  else
    for (const auto& v : own_->outputs()) now.push_back(graph_->part(v.get()));
  return detail::kept(outputs_, std::move(now));
}
inline at::ArrayRef<Block*> Node::blocks() const {
  std::vector<Block*> now;
  if (own_)
    for (const auto& b : own_->blocks()) now.push_back(graph_->part(b.get()));
  return detail::kept(blocks_, std::move(now));
}
inline Value* Node::namedInput(const std::string& name) const {
  const auto place = schema().argumentIndexWithName(name);
  TORCH_CHECK(place, kind().toQualString(), " has no argument ", name);
  return input(static_cast<size_t>(*place));
}
inline std::optional<c10::IValue> Node::get(NodeKind name) const { return toIValue(namedInput(name)); }
inline const c10::FunctionSchema* Node::maybeSchema() const {
  if (!own_ || schema_) return schema_ ? &*schema_ : nullptr;
  const std::string name = cresset::graph::script::kind_of(*own_);
  for (const auto& c : cresset::graph::script::find_candidates(name)) {
    if (c.op && c.op == own_->op()) schema_ = c10::OperatorHandle(cresset::dispatch::OpHandle(c.op)).schema();
    if (c.builtin && c.builtin == own_->builtin()) schema_ = parseSchema(c.schema.text());
    if (schema_) return &*schema_;
  }
  return nullptr;
}
inline bool Node::matches(const char* signature) const {
  const c10::FunctionSchema wanted = parseSchema(signature);
  if (!maybeSchema() || wanted.name() != kind().toQualString() || wanted.arguments().size() != schema().arguments().size()) return false;
  for (size_t i = 0; i < wanted.arguments().size(); i++)
    if (wanted.arguments()[i].name() != schema().arguments()[i].name() || wanted.arguments()[i].type()->str() != schema().arguments()[i].type()->str())
      return false;
  return true;
}
inline const c10::IValue* Node::find_attribute(NodeKind name) const {
  if (constant_) return name == attr::value && !outputs()[0]->mustBeNone() ? constant_->constant() : nullptr;
  if (!own_) return nullptr;
  view_ = cresset::graph::script::view_of(*own_);
  for (const auto& [known, value] : view_.attributes)
    if (known == name.toUnqualString()) return &value;
  return nullptr;
}
inline std::vector<NodeKind> Node::attributeNames() const {
  if (constant_) return hasAttribute(attr::value) ? std::vector<NodeKind>{attr::value} : std::vector<NodeKind>();
  std::vector<NodeKind> out;
  if (own_)
    for (const auto& row : cresset::graph::script::view_of(*own_).attributes) out.push_back(NodeKind::attr(row.first));
  return out;
}
inline AttributeKind Node::kindOf(NodeKind name) const {
  const c10::IValue& v = attribute(name);
  if (v.isInt() || v.isBool()) return AttributeKind::i;
  if (v.isDouble()) return AttributeKind::f;
  if (v.isComplexDouble()) return AttributeKind::c;
  if (v.isString()) return AttributeKind::s;
  if (v.isTensor()) return AttributeKind::t;
  if (v.isIntList()) return AttributeKind::is;
  if (v.isDoubleList()) return AttributeKind::fs;
  if (v.isTensorList()) return AttributeKind::ts;
  return AttributeKind::ival;
}
inline std::vector<std::string> Node::ss(NodeKind name) const {
  std::vector<std::string> out;
  for (const c10::IValue& v : attribute(name).toListVector()) out.push_back(v.to_string());
  return out;
}
inline Node* Node::set(NodeKind name, c10::IValue value) {
  TORCH_CHECK(own_ && own_->kind() == detail::ir::NodeKind::Foreign, kind().toQualString(),
              " takes its attributes as inputs; expected a node of an operator that is not known here");
  own_->set_attribute(name.toUnqualString(), std::move(value));
  return this;
}
inline Node* Node::removeAttribute(NodeKind name) {
  attribute(name);
  if (own_) own_->remove_attribute(name.toUnqualString());
  return this;
}
inline Block* Node::owningBlock() const { return own_ ? graph_->part(&own_->owner()) : block_ ? graph_->part(block_) : graph_->block(); }

namespace detail {
inline bool is_placed(const ir::Node& n) {
  const auto note = n.attributes().find(cresset::graph::script::kDetachedNote);
  return note == n.attributes().end() || !note->second.toBool();
}
}  // namespace detail

inline Node* Node::next() const {
  const auto& constants = graph_->constants_;
  const bool is_outermost = !own_ && owningBlock() == graph_->block();
  const size_t after = constant_ ? place_ + 1 : 0;
  if (is_outermost && after < constants.size()) return constants[after];
  detail::ir::Node* n = own_ ? own_->next() : owningBlock()->own()->first();
  while (n && !detail::is_placed(*n)) n = n->next();
  return n ? graph_->part(n) : nullptr;
}
inline Node* Node::prev() const {
  if (block_) return nullptr;
  const auto& constants = graph_->constants_;
  if (constant_) return place_ == 0 ? graph_->param_node() : constants[place_ - 1];
  detail::ir::Node* n = own_->previous();
  while (n && !detail::is_placed(*n)) n = n->previous();
  if (n) return graph_->part(n);
  return owningBlock() == graph_->block() && !constants.empty() ? constants.back() : owningBlock()->param_node();
}
inline bool Node::isBefore(const Node* other) const {
  // The places of both in the innermost block around both.
  const auto around = [](const Node* n) {
    std::vector<const Node*> out{n};
    while (const Node* owner = out.back()->owningBlock()->owningNode()) out.push_back(owner);
    return out;
  };
  std::vector<const Node*> mine = around(this), theirs = around(other);
  while (mine.size() > 1 && theirs.size() > 1 && mine.back() == theirs.back()) {
    mine.pop_back();
    theirs.pop_back();
  }
  for (const Node* n = mine.back()->next(); n; n = n->next())
    if (n == theirs.back()) return true;
  return false;
}
inline std::string Node::sourceRange() const {
  if (!own_ || !own_->location()) return "";
  const detail::ir::Location& l = *own_->location();
  return l.file + ":" + std::to_string(l.line) + ":" + std::to_string(l.column - 1);
}
inline void Node::set_inputs(const std::vector<Value*>& values) {
  TORCH_CHECK(own_, kind().toQualString(), " has no inputs");
  const std::vector<size_t> shown = cresset::graph::script::view_of(*own_).inputs;
  std::vector<detail::ir::Value*> all;
  size_t next = 0;
  for (size_t i = 0; i < own_->inputs().size(); i++) {
    if (std::find(shown.begin(), shown.end(), i) == shown.end()) all.push_back(own_->input(i));
    else if (next < values.size()) all.push_back(values[next++]->own());
  }
  while (next < values.size()) all.push_back(values[next++]->own());
  own_->remove_inputs();
  for (detail::ir::Value* v : all) own_->add_input(v);
  graph_->changed();
}
inline Value* Node::addInput(Value* value) { return insertInput(inputs().size(), value); }
inline Value* Node::insertInput(size_t i, Value* value) {
  std::vector<Value*> values = inputs().vec();
  TORCH_CHECK(i <= values.size(), "insertInput: expected a place from 0 to ", values.size(), ", got ", i);
  values.insert(values.begin() + static_cast<std::ptrdiff_t>(i), value);
  set_inputs(values);
  return value;
}
inline Value* Node::replaceInput(size_t i, Value* value) {
  std::vector<Value*> values = inputs().vec();
  Value* const former = std::exchange(values.at(i), value);
  set_inputs(values);
  return former;
}
inline void Node::replaceInputWith(Value* from, Value* to) {
  std::vector<Value*> values = inputs().vec();
  std::replace(values.begin(), values.end(), from, to);
  set_inputs(values);
}
inline void Node::removeInput(size_t i) {
  std::vector<Value*> values = inputs().vec();
  TORCH_CHECK(i < values.size(), "removeInput: expected a place below ", values.size(), ", got ", i);
  values.erase(values.begin() + static_cast<std::ptrdiff_t>(i));
  set_inputs(values);
}
inline Value* Node::addOutput() {
  TORCH_CHECK(own_, kind().toQualString(), ": outputs cannot be added");
  return graph_->part(own_->add_output(detail::ir::TypeKind::Tensor));
}
inline void Node::eraseOutput(size_t i) {
  TORCH_CHECK(own_, kind().toQualString(), ": outputs cannot be erased");
  graph_->values_.erase(own_->output(i));
  own_->remove_output(i);
  graph_->changed();
}
inline Block* Node::addBlock() {
  TORCH_CHECK(own_, kind().toQualString(), ": blocks cannot be added");
  return graph_->part(own_->add_block());
}
// Constants stand before all nodes, wherever they are moved to.
inline Node* Node::insertBefore(Node* other) {
  if (!own_) return this;
  own_->move_before(other->own_ ? other->own_ : graph_->block()->own()->first());
  own_->set_attribute(cresset::graph::script::kDetachedNote, c10::IValue(false));
  graph_->changed();
  return this;
}
inline Node* Node::insertAfter(Node* other) {
  Node* after = other->next();
  if (other->constant_ || (other->block_ && other->owningBlock() == graph_->block()))
    while (after->constant_) after = after->next();
  return insertBefore(after);
}
inline void Node::replaceAllUsesWith(Node* other) {
  TORCH_CHECK(outputs().size() == other->outputs().size(), "replaceAllUsesWith: expected a node with ", outputs().size(), " outputs, got ",
              other->outputs().size());
  for (size_t i = 0; i < outputs().size(); i++) output(i)->replaceAllUsesWith(other->output(i));
}
inline Node* Node::copyMetadata(Node* from) {
  if (own_ && from->own_) own_->set_location(from->own_->location());
  return this;
}
inline void Node::destroy() {
  TORCH_CHECK(!hasUses(), "destroy: the outputs of ", kind().toQualString(), " are used");
  if (!own_) return;
  Graph* const graph = graph_;
  detail::ir::Node* const own = own_;
  graph->forget(*own);  // this object, too
  own->erase();
  graph->changed();
}
inline std::ostream& operator<<(std::ostream& out, const Node& n) {
  const auto list = [&](at::ArrayRef<Value*> values, bool typed) {
    for (size_t i = 0; i < values.size(); i++) out << (i ? ", %" : "%") << values[i]->debugName() << (typed ? " : " + values[i]->type()->str() : "");
  };
  list(n.outputs(), true);
  out << (n.outputs().empty() ? "" : " = ") << n.kind().toQualString();
  const auto names = n.attributeNames();
  for (size_t i = 0; i < names.size(); i++) out << (i ? ", " : "[") << names[i].toUnqualString() << "=" << cresset::graph::script::literal_of(n.ival(names[i]));
  out << (names.empty() ? "(" : "](");
  list(n.inputs(), false);
  return out << ")\n";
}
inline void Node::dump() const { std::cout << *this; }

// ---- blocks

inline at::ArrayRef<Value*> Block::inputs() const {
  std::vector<Value*> now;
  for (const auto& p : own_->parameters()) now.push_back(graph_->part(p.get()));
  return detail::kept(inputs_, std::move(now));
}
inline graph_node_list Block::nodes() const {
  if (this == graph_->block()) graph_->constants();
  return {param_node(), return_node(), false};
}
inline Node* Block::param_node() const { return graph_->parameters_of(own_); }
inline Node* Block::return_node() const { return graph_->part(own_->return_node()); }
inline Node* Block::owningNode() const { return own_->owner() ? graph_->part(own_->owner()) : nullptr; }
inline Value* Block::addInput(const std::string& name) {
  Value* const made = graph_->part(own_->add_parameter(detail::ir::TypeKind::Tensor, name));
  graph_->changed();
  return made;
}
inline void Block::eraseInput(size_t i) {
  graph_->values_.erase(own_->parameter(i));
  own_->remove_parameter(i);
  graph_->changed();
}

inline void Block::permuteInputs(const std::vector<size_t>& order) {
  own_->permute_parameters(order);
  graph_->changed();
}

// ---- graphs

inline Value* Graph::part(detail::ir::Value* v) const {
  auto& made = values_[v];
  if (!made) made.reset(new Value(const_cast<Graph*>(this), v));
  return made.get();
}
inline Node* Graph::part(detail::ir::Node* n) const {
  auto& made = nodes_[n];
  if (!made) {
    made.reset(new Node(const_cast<Graph*>(this)));
    made->own_ = n;
  }
  return made.get();
}
inline Block* Graph::part(detail::ir::Block* b) const {
  auto& made = blocks_[b];
  if (!made) made.reset(new Block(const_cast<Graph*>(this), b));
  return made.get();
}
inline Node* Graph::constant_node(detail::ir::Value* v) const {
  auto& made = nodes_[v];
  if (!made) {
    made.reset(new Node(const_cast<Graph*>(this)));
    made->constant_ = v;
  }
  return made.get();
}
inline Node* Graph::parameters_of(detail::ir::Block* b) const {
  auto& made = nodes_[b];
  if (!made) {
    made.reset(new Node(const_cast<Graph*>(this)));
    made->block_ = b;
  }
  return made.get();
}
inline const std::vector<Node*>& Graph::constants() const {
  std::vector<Node*> now;
  for (const auto& c : own_->constants()) {
    if (c->uses().empty() || cresset::graph::script::is_only_attribute(*c)) continue;
    now.push_back(constant_node(c.get()));
    now.back()->place_ = now.size() - 1;
  }
  return constants_ = std::move(now);
}
inline void Graph::forget(const detail::ir::Node& n) const {
  for (const auto& v : n.outputs()) values_.erase(v.get());
  for (const auto& b : n.blocks()) {
    for (const auto& p : b->parameters()) values_.erase(p.get());
    for (const auto& inside : b->nodes()) forget(*inside);
    nodes_.erase(b.get());
    blocks_.erase(b.get());
  }
  nodes_.erase(&n);
}
inline void Graph::changed_by_pass() {
  std::unordered_set<const void*> living;
  const auto block = [&](const detail::ir::Block& b) {
    living.insert(&b);
    for (const auto& p : b.parameters()) living.insert(p.get());
  };
  block(own_->block());
  for (const auto& c : own_->constants()) living.insert(c.get());
  own_->for_each([&](detail::ir::Node& n) {
    living.insert(&n);
    for (const auto& v : n.outputs()) living.insert(v.get());
    for (const auto& b : n.blocks()) block(*b);
  });
  const auto sweep = [&](auto& parts) {
    for (auto at = parts.begin(); at != parts.end();) at = living.count(at->first) ? std::next(at) : parts.erase(at);
  };
  if (insert_before_ && !living.count(insert_before_->own_)) insert_before_ = nullptr;
  sweep(values_);
  sweep(nodes_);
  sweep(blocks_);
  constants_.clear();
  changed();
}
inline Node* Graph::create_with(NodeKind kind, const std::vector<Value*>& inputs, const std::vector<std::pair<std::string, c10::IValue>>& attributes) {
  using K = detail::ir::NodeKind;
  std::vector<detail::ir::Value*> values;
  for (const Value* v : inputs) values.push_back(v->own());
  const std::string name = kind.toQualString();
  detail::ir::Node* made;
  if (name == "prim::If" || name == "prim::Loop") made = own_->create(name == "prim::If" ? K::If : K::Loop, values);
  else if (name == "prim::TupleUnpack" || name == "prim::ListUnpack") made = own_->create(K::Unpack, values);
  else if (!kind.is_aten() && !kind.is_prim() && cresset::graph::script::find_candidates(name).empty()) made = own_->create_foreign(name, values);
  else made = cresset::graph::script::create_by_kind(*own_, name, values, attributes, nullptr);
  made->set_attribute(cresset::graph::script::kDetachedNote, c10::IValue(true));
  return part(made);
}
inline Node* Graph::create(NodeKind kind, at::ArrayRef<Value*> inputs, size_t num_outputs) {
  Node* const made = create_with(kind, inputs.vec(), {});
  while (made->outputs().size() < num_outputs) made->addOutput();
  return made;
}
inline Value* Graph::insertConstant(c10::IValue value) { return part(own_->constant(std::move(value))); }
inline Value* Graph::insert(NodeKind kind, const std::vector<NamedValue>& arguments) {
  std::vector<Value*> values;
  for (const NamedValue& a : arguments) values.push_back(a.value ? a.value : insertConstant(a.constant));
  return insertNode(create_with(kind, values, {}))->output();
}
inline std::string Graph::toString(bool print_source_locations) const {
  const std::string text = cresset::graph::script::graph_text(*own_);
  if (print_source_locations) return text;
  std::string out;
  for (size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    out += text.substr(at, std::min(text.find(" # ", at), end) - at) + "\n";
  }
  return out;
}
inline void Graph::dump() const { std::cout << *this; }

}  // namespace torch::jit

namespace cresset::graph::script {
// The graph of a function, which keeps it. Errors: as compilation; it is one of Python.
inline std::shared_ptr<torch::jit::Graph> libtorch_graph(Function& function) {
  function.ensure_defined();
  CRESSET_CHECK(function.graph, short_name(function.name), " is a function of Python, which has no graph");
  if (!function.view) function.view = std::make_shared<torch::jit::Graph>(function);
  struct Kept {
    std::shared_ptr<CompilationUnit> unit;
    std::shared_ptr<void> view;
  };
  auto kept = std::make_shared<Kept>(Kept{function.unit->shared_from_this(), function.view});
  auto* const graph = static_cast<torch::jit::Graph*>(kept->view.get());
  return {std::move(kept), graph};
}
}  // namespace cresset::graph::script
