#pragma once
// The intermediate representation of programs: a graph is a block of nodes, each an operator of the dispatcher, a builtin function of numbers
// and lists, or structure (branches, loops, tuples). Values are assigned once; nodes in nested blocks see the values around them.

#include <list>
#include <unordered_map>
#include <unordered_set>

#include "cresset/base/function_ref.h"
#include "cresset/dispatch/op.h"
#include "cresset/dispatch/values/object.h"
#include "cresset/graph/ir/builtin.h"
#include "cresset/graph/ir/type.h"

namespace cresset::graph {

class Block;
class Graph;
class Node;

// A place in the program that the graph was made from.
struct Location {
  std::string file, function;
  int line = 0, column = 0;                // from 1; 0: unknown
  std::shared_ptr<const void> detail;      // of the front end that made it: the text around
  std::shared_ptr<const Location> caller;  // of the call that stood here before its function was put in its place
  bool operator==(const Location& o) const { return file == o.file && function == o.function && line == o.line && column == o.column; }
};

enum class NodeKind : uint8_t {
  Op,       // of the dispatcher; as many inputs as its schema has arguments
  Builtin,  // a function of the table in builtin.h
  Return,   // the end of a block: its inputs are the block's results
  If,       // (bool) with two blocks without parameters; outputs: the results of the one that runs
  // (int trips, bool go_on, carried...) with a block (int i, carried...) -> (bool go_on, carried...); outputs: carried
  Loop,
  List,     // a list of its inputs
  Tuple,    // a tuple of its inputs
  Dict,     // key, value, key, value, ...
  Unpack,   // the elements of a list or tuple, which has as many as there are outputs
  Call,     // another graph of the module, by name
  Foreign,  // an operator that this library lacks: it can be looked at and changed, and not run
};

struct Use {
  Node* node;
  size_t input;
};

class CRESSET_API Value {
 public:
  const std::string& name() const { return name_; }  // without %; that of a constant tensor without @
  const Type& type() const { return type_; }
  void set_type(Type type) { type_ = std::move(type); }
  // With a number behind it where another value has the name. Errors: it is no name.
  void set_name(const std::string& name);
  // The node that makes it; null for parameters of blocks and constants.
  Node* node() const { return node_; }
  // The block whose parameter it is, or null.
  Block* block() const { return block_; }
  size_t index() const { return index_; }
  const std::vector<Use>& uses() const { return uses_; }
  void replace_uses_with(Value* other);

  bool is_constant() const { return is_constant_; }
  // Null where it is no constant. A constant tensor that is not bound yet is an undefined one.
  const Datum* constant() const { return is_constant_ ? &datum_ : nullptr; }
  void bind(Datum datum) { datum_ = std::move(datum); }
  Graph& graph() const { return *graph_; }

 private:
  friend class Block;
  friend class Graph;
  friend class Node;
  Value() = default;

  std::string name_;
  Type type_;
  Graph* graph_ = nullptr;
  Node* node_ = nullptr;
  Block* block_ = nullptr;
  size_t index_ = 0;
  bool is_constant_ = false;
  Datum datum_;
  std::vector<Use> uses_;
};

class CRESSET_API Node {
 public:
  NodeKind kind() const { return kind_; }
  const dispatch::OpEntry* op() const { return op_; }
  const Builtin* builtin() const { return builtin_; }
  // "add.Tensor", "ir::if", "ir::call @other", or the name of a foreign operator.
  std::string op_name() const;
  // Of a call or a foreign operator.
  const std::string& target() const { return target_; }
  // The name of its first output, or of its operator: for messages.
  std::string text_name() const;

  const std::vector<Value*>& inputs() const { return inputs_; }
  Value* input(size_t i) const { return inputs_.at(i); }
  void set_input(size_t i, Value* value);
  void add_input(Value* value);
  void remove_inputs();
  const std::vector<std::unique_ptr<Value>>& outputs() const { return outputs_; }
  Value* output(size_t i = 0) const { return outputs_.at(i).get(); }
  Value* add_output(Type type, std::string_view name = "");
  // Errors: it is used.
  void remove_output(size_t i);
  const std::vector<std::unique_ptr<Block>>& blocks() const { return blocks_; }
  Block* add_block();

  // Notes of tools, such as the path of the module, and the attributes of foreign operators: numbers, strings and lists of them.
  const std::map<std::string, Datum>& attributes() const { return attributes_; }
  void set_attribute(const std::string& name, Datum value) { attributes_[name] = std::move(value); }
  void remove_attribute(const std::string& name) { attributes_.erase(name); }
  const std::shared_ptr<const Location>& location() const { return location_; }
  void set_location(std::shared_ptr<const Location> location) { location_ = std::move(location); }

  Block& owner() const { return *owner_; }
  Graph& graph() const;
  // Null at the end; the return node is the last.
  Node* next() const;
  Node* previous() const;
  // Errors: an output is used.
  void erase();
  void move_before(Node* other);

 private:
  friend class Block;
  friend class Graph;
  Node() = default;

  NodeKind kind_ = NodeKind::Op;
  const dispatch::OpEntry* op_ = nullptr;
  const Builtin* builtin_ = nullptr;
  std::string target_;
  std::vector<Value*> inputs_;
  std::vector<std::unique_ptr<Value>> outputs_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::map<std::string, Datum> attributes_;
  std::shared_ptr<const Location> location_;
  Block* owner_ = nullptr;
  std::list<std::unique_ptr<Node>>::iterator place_;
};

class CRESSET_API Block {
 public:
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const std::vector<std::unique_ptr<Value>>& parameters() const { return parameters_; }
  Value* parameter(size_t i) const { return parameters_.at(i).get(); }
  Value* add_parameter(Type type, std::string_view name = "");
  // Errors: it is used.
  void remove_parameter(size_t i);
  // Parameter `order[i]` becomes number i. Errors: the order is none of all parameters.
  void permute_parameters(const std::vector<size_t>& order);
  // The last is the return node.
  const std::list<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  Node* first() const { return nodes_.front().get(); }
  Node* return_node() const { return nodes_.back().get(); }
  const std::vector<Value*>& results() const { return return_node()->inputs(); }
  void add_result(Value* value) { return_node()->add_input(value); }
  // Null for the graph's own block.
  Node* owner() const { return owner_; }
  Graph& graph() const { return *graph_; }

 private:
  friend class Graph;
  friend class Node;
  Block(Graph* graph, Node* owner);

  Graph* graph_;
  Node* owner_;
  std::vector<std::unique_ptr<Value>> parameters_;
  std::list<std::unique_ptr<Node>> nodes_;
};

// The values that a symbol can have: bounds included; no upper one where `max` is kNoBound.
struct SymRange {
  static constexpr int64_t kNoBound = INT64_MAX;
  int64_t min = 0, max = kNoBound;
};

class CRESSET_API Graph {
 public:
  explicit Graph(std::string name = "graph");
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  Block& block() { return *block_; }
  const Block& block() const { return *block_; }
  Value* add_parameter(Type type, std::string_view name = "") { return block_->add_parameter(std::move(type), name); }
  std::map<std::string, SymRange>& ranges() { return ranges_; }
  const std::map<std::string, SymRange>& ranges() const { return ranges_; }

  // Numbers, strings, lists of them, None. A tensor gets a name and is printed as @name.
  Value* constant(Datum value, std::string_view name = "");
  // A constant tensor of which only the facts are known as yet.
  Value* unbound(Type type, std::string_view name);
  Value* none() { return constant(Datum()); }
  // The constant tensor of this name, or null.
  Value* find_constant(std::string_view name) const;
  const std::vector<std::unique_ptr<Value>>& constants() const { return constants_; }
  // Drops the constants that no node uses.
  void remove_unused_constants();

  // New nodes stand before `place`, or at the end of the graph's block. Inputs: as many as the schema has arguments; outputs get the types
  // of its results, all of which may be made more exact. Errors: too many or too few inputs.
  Node* create(const dispatch::OpHandle& op, std::vector<Value*> inputs, Node* place = nullptr);
  // The same by name, with the defaults of the arguments that are not given, for builtins too. Errors: no such operator.
  Node* create(std::string_view name, std::vector<Value*> inputs, Node* place = nullptr);
  Node* create(const Builtin& builtin, std::vector<Value*> inputs, Node* place = nullptr);
  // Structure, without outputs and blocks as yet but for those of lists, tuples and dicts.
  Node* create(NodeKind kind, std::vector<Value*> inputs, Node* place = nullptr);
  Node* create_call(std::string graph, std::vector<Value*> inputs, Node* place = nullptr);
  Node* create_foreign(std::string target, std::vector<Value*> inputs, Node* place = nullptr);

  // A copy of a node of this or another graph before `place`, its inputs, and those of its blocks, replaced by `map`; outputs keep types and,
  // where they are free, names.
  Node* copy(const Node& node, FunctionRef<Value*(Value*)> map, Node* place);
  std::unique_ptr<Graph> clone() const;

  // The name itself, or with a number behind it where it is taken; letters that names cannot have become underscores.
  std::string fresh_name(std::string_view wanted);
  bool has_name(const std::string& name) const { return names_.count(name) != 0; }
  // All nodes, those of nested blocks after their owner, return nodes included.
  void for_each(FunctionRef<void(Node&)> visit) const;
  size_t num_nodes() const;

  // Errors: the first thing that is wrong, with the graph and the node: inputs that are not in scope, wrong numbers and types of inputs and outputs,
  // structure whose blocks do not fit, facts that contradict each other.
  void verify() const;
  std::string text() const;

 private:
  friend class Block;
  friend class Node;
  friend class Value;
  Node* place_node(std::unique_ptr<Node> node, Node* place);

  std::string name_;
  std::unordered_map<std::string, size_t> names_;  // taken, with the next number to try
  std::map<std::string, SymRange> ranges_;
  std::vector<std::unique_ptr<Value>> constants_;
  std::unique_ptr<Block> block_;
};

// Graphs that call each other by name; the first is the entry.
struct CRESSET_API Module {
  std::vector<std::unique_ptr<Graph>> graphs;
  Graph* find(std::string_view name) const;
  void verify() const;
  std::string text() const;
};

// Types that a string literal, a number or a list of them prints as, and reads back from.
CRESSET_API std::string literal_text(const Datum& value);

struct ParseOptions {
  // An operator that is not registered becomes a foreign one instead of an error.
  bool allow_foreign = false;
  size_t max_nodes = size_t{1} << 24;
};
// Reads text as Graph::text and Module::text print it, and verifies it. Errors: ValueError with line and column.
CRESSET_API std::unique_ptr<Graph> parse_graph(std::string_view text, const ParseOptions& options = {});
CRESSET_API Module parse_module(std::string_view text, const ParseOptions& options = {});

}  // namespace cresset::graph
