#include "cresset/graph/ir/graph.h"

#include <algorithm>

#include "cresset/graph/ir/names.h"

namespace cresset::graph {

namespace {

void remove_use(std::vector<Use>& uses, const Node* node, size_t input) {
  const auto found = std::find_if(uses.begin(), uses.end(), [&](const Use& u) { return u.node == node && u.input == input; });
  CRESSET_INTERNAL_ASSERT(found != uses.end());
  uses.erase(found);
}

}  // namespace

void Value::set_name(const std::string& name) {
  if (name == name_) return;
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
  CRESSET_CHECK(!name.empty() && std::all_of(name.begin(), name.end(), is_letter), "expected a name of letters, digits, dots and underscores, got '", name,
                "'");
  graph_->names_.erase(name_);
  name_ = graph_->fresh_name(name);
}
void Value::replace_uses_with(Value* other) {
  if (other == this) return;
  const std::vector<Use> uses = uses_;
  for (const Use& u : uses) u.node->set_input(u.input, other);
}

std::string Node::op_name() const {
  switch (kind_) {
    case NodeKind::Op: return op_->name;
    case NodeKind::Builtin: return builtin_->name;
    case NodeKind::Foreign: return target_;
    default: return structure_name(kind_);
  }
}
std::string Node::text_name() const {
  const std::string op = kind_ == NodeKind::Call ? op_name() + " @" + target_ : op_name();
  return outputs_.empty() ? op : "%" + outputs_[0]->name() + " = " + op;
}

Graph& Node::graph() const { return owner_->graph(); }

void Node::set_input(size_t i, Value* value) {
  CRESSET_INTERNAL_ASSERT(value);
  Value*& at = inputs_.at(i);
  if (at == value) return;
  remove_use(at->uses_, this, i);
  at = value;
  value->uses_.push_back({this, i});
}
void Node::add_input(Value* value) {
  CRESSET_INTERNAL_ASSERT(value);
  value->uses_.push_back({this, inputs_.size()});
  inputs_.push_back(value);
}
void Node::remove_inputs() {
  for (size_t i = 0; i < inputs_.size(); i++) remove_use(inputs_[i]->uses_, this, i);
  inputs_.clear();
}
Value* Node::add_output(Type type, std::string_view name) {
  auto v = std::unique_ptr<Value>(new Value);
  v->graph_ = &graph();
  v->name_ = graph().fresh_name(name.empty() ? short_name(op_name()) : std::string(name));
  v->type_ = std::move(type);
  v->node_ = this;
  v->index_ = outputs_.size();
  outputs_.push_back(std::move(v));
  return outputs_.back().get();
}
void Node::remove_output(size_t i) {
  CRESSET_CHECK(outputs_.at(i)->uses_.empty(), "graph ", graph().name(), ": %", outputs_[i]->name_, " is used and cannot be removed");
  graph().names_.erase(outputs_[i]->name_);
  outputs_.erase(outputs_.begin() + static_cast<std::ptrdiff_t>(i));
  for (size_t k = i; k < outputs_.size(); k++) outputs_[k]->index_ = k;
}
Block* Node::add_block() {
  blocks_.push_back(std::unique_ptr<Block>(new Block(&graph(), this)));
  return blocks_.back().get();
}

Node* Node::next() const {
  const auto after = std::next(place_);
  return after == owner_->nodes_.end() ? nullptr : after->get();
}
Node* Node::previous() const { return place_ == owner_->nodes_.begin() ? nullptr : std::prev(place_)->get(); }

void Node::erase() {
  for (const auto& o : outputs_)
    CRESSET_CHECK(o->uses_.empty(), "graph ", graph().name(), ", node ", text_name(), ": %", o->name_, " is used by ", o->uses_[0].node->text_name(),
                  " and cannot be removed");
  CRESSET_INTERNAL_ASSERT(kind_ != NodeKind::Return);
  blocks_.clear();
  remove_inputs();
  for (const auto& o : outputs_) graph().names_.erase(o->name_);
  owner_->nodes_.erase(place_);  // this is gone now
}
void Node::move_before(Node* other) {
  CRESSET_INTERNAL_ASSERT(other && other != this && &other->graph() == &graph());
  other->owner_->nodes_.splice(other->place_, owner_->nodes_, place_);
  owner_ = other->owner_;
}

Block::Block(Graph* graph, Node* owner) : graph_(graph), owner_(owner) {
  auto end = std::unique_ptr<Node>(new Node);
  end->kind_ = NodeKind::Return;
  end->owner_ = this;
  nodes_.push_back(std::move(end));
  nodes_.back()->place_ = nodes_.begin();
}
Block::~Block() {
  // Uses go before what they use: from the end, each with its nested blocks.
  while (!nodes_.empty()) {
    Node& last = *nodes_.back();
    last.blocks_.clear();
    last.remove_inputs();
    for (const auto& o : last.outputs_) graph_->names_.erase(o->name_);
    nodes_.pop_back();
  }
  for (const auto& p : parameters_) graph_->names_.erase(p->name_);
}
Value* Block::add_parameter(Type type, std::string_view name) {
  auto v = std::unique_ptr<Value>(new Value);
  v->graph_ = graph_;
  v->name_ = graph_->fresh_name(name.empty() ? "x" : name);
  v->type_ = std::move(type);
  v->block_ = this;
  v->index_ = parameters_.size();
  parameters_.push_back(std::move(v));
  return parameters_.back().get();
}
void Block::remove_parameter(size_t i) {
  CRESSET_CHECK(parameters_.at(i)->uses_.empty(), "graph ", graph_->name(), ": the parameter %", parameters_[i]->name_, " is used and cannot be removed");
  graph_->names_.erase(parameters_[i]->name_);
  parameters_.erase(parameters_.begin() + static_cast<std::ptrdiff_t>(i));
  for (size_t k = i; k < parameters_.size(); k++) parameters_[k]->index_ = k;
}

void Block::permute_parameters(const std::vector<size_t>& order) {
  std::vector<size_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool is_order = sorted.size() == parameters_.size();
  for (size_t i = 0; is_order && i < sorted.size(); i++) is_order = sorted[i] == i;
  CRESSET_CHECK_VALUE(is_order, "graph ", graph_->name(), ": expected the numbers of its ", parameters_.size(), " parameters in an order");
  std::vector<std::unique_ptr<Value>> moved;
  for (const size_t i : order) moved.push_back(std::move(parameters_[i]));
  parameters_ = std::move(moved);
  for (size_t i = 0; i < parameters_.size(); i++) parameters_[i]->index_ = i;
}

Graph::Graph(std::string name) : name_(std::move(name)), block_(new Block(this, nullptr)) {}
Graph::~Graph() { block_.reset(); }

std::string Graph::fresh_name(std::string_view wanted) {
  std::string name;
  for (const char c : wanted) name += is_name_char(c) ? c : '_';
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name = "v" + name;
  const auto [found, is_new] = names_.try_emplace(name, 1);
  if (is_new) return name;
  size_t& next = found->second;
  while (true) {
    const std::string numbered = name + "_" + std::to_string(next++);
    if (names_.try_emplace(numbered, 1).second) return numbered;
  }
}

Value* Graph::constant(Datum datum, std::string_view name) {
  auto v = std::unique_ptr<Value>(new Value);
  v->graph_ = this;
  v->type_ = Type::of(datum);
  v->is_constant_ = true;
  v->datum_ = std::move(datum);
  v->index_ = constants_.size();
  if (v->type_.is_tensor() || !name.empty()) v->name_ = fresh_name(name.empty() ? "constant" : name);
  constants_.push_back(std::move(v));
  return constants_.back().get();
}
Value* Graph::unbound(Type type, std::string_view name) {
  Value* v = constant(Datum(), name);
  v->set_type(std::move(type));
  v->bind(Datum(Tensor()));
  return v;
}
Value* Graph::find_constant(std::string_view name) const {
  for (const auto& c : constants_)
    if (!c->name_.empty() && c->name_ == name) return c.get();
  return nullptr;
}
void Graph::remove_unused_constants() {
  for (const auto& c : constants_)
    if (c->uses_.empty()) names_.erase(c->name_);
  constants_.erase(std::remove_if(constants_.begin(), constants_.end(), [](const auto& c) { return c->uses_.empty(); }), constants_.end());
}

Node* Graph::place_node(std::unique_ptr<Node> node, Node* place) {
  if (!place) place = block_->return_node();
  CRESSET_INTERNAL_ASSERT(&place->graph() == this);
  Node* n = node.get();
  n->owner_ = place->owner_;
  n->place_ = place->owner_->nodes_.insert(place->place_, std::move(node));
  return n;
}

Node* Graph::create(const dispatch::OpHandle& op, std::vector<Value*> inputs, Node* place) {
  const dispatch::FunctionSchema& schema = op.schema();
  CRESSET_CHECK_VALUE(inputs.size() == schema.arguments.size(), op.entry().name, ": expected a value for each of the ", schema.arguments.size(),
                      " arguments, got ", inputs.size());
  auto node = std::unique_ptr<Node>(new Node);
  node->kind_ = NodeKind::Op;
  node->op_ = &op.entry();
  Node* n = place_node(std::move(node), place);
  for (Value* v : inputs) n->add_input(v);
  for (const dispatch::Argument& r : schema.returns)
    n->add_output(Type::of_schema(r.type), schema.returns.size() > 1 && !r.name.empty() ? schema.name + "_" + r.name : short_name(schema.name));
  return n;
}
Node* Graph::create(std::string_view name, std::vector<Value*> inputs, Node* place) {
  if (const Builtin* b = find_builtin(name)) return create(*b, std::move(inputs), place);
  const dispatch::OpHandle op = dispatch::find_op(name);
  const auto& arguments = op.schema().arguments;
  for (size_t i = inputs.size(); i < arguments.size(); i++) {
    CRESSET_CHECK_VALUE(arguments[i].has_default, op.entry().name, ": expected a value for '", arguments[i].name, "', which has no default");
    inputs.push_back(constant(arguments[i].default_value));
  }
  return create(op, std::move(inputs), place);
}
Node* Graph::create(const Builtin& builtin, std::vector<Value*> inputs, Node* place) {
  CRESSET_CHECK_VALUE(static_cast<int>(inputs.size()) >= builtin.min_inputs && static_cast<int>(inputs.size()) <= builtin.max_inputs, builtin.name,
                      ": expected between ", builtin.min_inputs, " and ", builtin.max_inputs, " inputs, got ", inputs.size());
  auto node = std::unique_ptr<Node>(new Node);
  node->kind_ = NodeKind::Builtin;
  node->builtin_ = &builtin;
  Node* n = place_node(std::move(node), place);
  for (Value* v : inputs) n->add_input(v);
  n->add_output(builtin.result);
  return n;
}
Node* Graph::create(NodeKind kind, std::vector<Value*> inputs, Node* place) {
  CRESSET_INTERNAL_ASSERT(kind > NodeKind::Return && kind < NodeKind::Call);
  auto node = std::unique_ptr<Node>(new Node);
  node->kind_ = kind;
  Node* n = place_node(std::move(node), place);
  for (Value* v : inputs) n->add_input(v);
  std::vector<Type> types;
  for (const Value* v : inputs) types.push_back(v->type());
  if (kind == NodeKind::List) {
    Type element = types.empty() ? Type() : types[0];
    for (const Type& t : types)
      if (t != element) element = t.is_tensor() && element.is_tensor() ? Type(TypeKind::Tensor) : Type();
    n->add_output(Type::list(element));
  } else if (kind == NodeKind::Tuple) {
    n->add_output(Type::tuple(std::move(types)));
  } else if (kind == NodeKind::Dict) {
    CRESSET_CHECK_VALUE(types.size() % 2 == 0, "ir::dict: expected keys and values in turn, got ", types.size(), " inputs");
    n->add_output(types.empty() ? Type::dict(TypeKind::Any, TypeKind::Any) : Type::dict(types[0], types[1]));
  }
  return n;
}
Node* Graph::create_call(std::string graph, std::vector<Value*> inputs, Node* place) {
  auto node = std::unique_ptr<Node>(new Node);
  node->kind_ = NodeKind::Call;
  node->target_ = std::move(graph);
  Node* n = place_node(std::move(node), place);
  for (Value* v : inputs) n->add_input(v);
  return n;
}
Node* Graph::create_foreign(std::string target, std::vector<Value*> inputs, Node* place) {
  auto node = std::unique_ptr<Node>(new Node);
  node->kind_ = NodeKind::Foreign;
  node->target_ = std::move(target);
  Node* n = place_node(std::move(node), place);
  for (Value* v : inputs) n->add_input(v);
  return n;
}

namespace {

// Nodes of nested blocks find the copies of what stands before them in `inner`, and everything else through `map`.
void copy_block(Graph& to, const Block& from, Block& into, FunctionRef<Value*(Value*)> map, std::unordered_map<Value*, Value*>& inner) {
  const auto find = [&](Value* v) {
    const auto found = inner.find(v);
    return found != inner.end() ? found->second : map(v);
  };
  for (const auto& p : from.parameters()) inner[p.get()] = into.add_parameter(p->type(), p->name());
  for (const auto& n : from.nodes()) {
    if (n->kind() == NodeKind::Return) {
      for (Value* v : n->inputs()) into.add_result(find(v));
      into.return_node()->set_location(n->location());
      continue;
    }
    Node* made = to.copy(*n, find, into.return_node());
    for (size_t i = 0; i < n->outputs().size(); i++) inner[n->output(i)] = made->output(i);
  }
}

}  // namespace

Node* Graph::copy(const Node& node, FunctionRef<Value*(Value*)> map, Node* place) {
  auto made = std::unique_ptr<Node>(new Node);
  made->kind_ = node.kind_;
  made->op_ = node.op_;
  made->builtin_ = node.builtin_;
  made->target_ = node.target_;
  made->attributes_ = node.attributes_;
  made->location_ = node.location_;
  std::vector<Value*> inputs;
  for (Value* v : node.inputs_) inputs.push_back(map(v));
  Node* n = place_node(std::move(made), place);
  for (Value* v : inputs) n->add_input(v);
  for (const auto& o : node.outputs_) n->add_output(o->type(), o->name());
  for (const auto& b : node.blocks_) {
    std::unordered_map<Value*, Value*> inner;
    copy_block(*this, *b, *n->add_block(), map, inner);
  }
  return n;
}

std::unique_ptr<Graph> Graph::clone() const {
  auto out = std::make_unique<Graph>(name_);
  out->ranges_ = ranges_;
  std::unordered_map<Value*, Value*> constants, inner;
  for (const auto& c : constants_) {
    Value* v = out->constant(c->datum_, c->name_);
    v->set_type(c->type_);
    constants[c.get()] = v;
  }
  copy_block(
      *out, *block_, *out->block_, [&](Value* v) { return constants.at(v); }, inner);
  return out;
}

namespace {

void visit_block(const Block& block, FunctionRef<void(Node&)> visit) {
  for (auto at = block.nodes().begin(); at != block.nodes().end();) {
    Node& n = **at++;  // which may be erased, unless it has blocks
    const bool has_blocks = !n.blocks().empty();
    visit(n);
    for (size_t i = 0; has_blocks && i < n.blocks().size(); i++) visit_block(*n.blocks()[i], visit);
  }
}

}  // namespace

void Graph::for_each(FunctionRef<void(Node&)> visit) const { visit_block(*block_, visit); }
size_t Graph::num_nodes() const {
  size_t n = 0;
  for_each([&](Node& node) { n += node.kind() != NodeKind::Return; });
  return n;
}

Graph* Module::find(std::string_view name) const {
  for (const auto& g : graphs)
    if (g->name() == name) return g.get();
  return nullptr;
}

}  // namespace cresset::graph
