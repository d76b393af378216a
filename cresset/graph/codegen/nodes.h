#pragma once
// Parts of the passes that put kernels in the place of operators. Private to the room.

#include "cresset/graph/codegen/fuse.h"
#include "cresset/ops/functions.h"

namespace cresset::graph {

// Whether a value is a dense tensor on the CPU whose dtype, sizes and strides are known.
inline bool is_plain(const Value* v) {
  const TensorFacts& f = v->type().facts();
  if (!v->type().is_tensor() || !f.dtype || !f.sizes || !f.strides || f.strides->size() != f.sizes->size()) return false;
  if (f.layout && *f.layout != Layout::Strided) return false;
  const Tensor* constant = v->is_constant() && v->constant()->is_tensor() ? &v->constant()->to_tensor() : nullptr;
  if (constant && constant->defined() && constant->impl()->is_lazy()) return false;
  return !f.device || f.device->is_cpu();
}
inline const std::vector<Sym>& shape_of(const Value* v) { return *v->type().facts().sizes; }
inline std::string_view name_of(const Node& n) { return n.kind() == NodeKind::Op ? std::string_view(n.op()->name) : std::string_view(); }

// Calls a kernel before `place`, or at the end: the node whose outputs, still to be added, are its results.
inline Node* call_kernel(Graph& graph, int64_t number, std::vector<Value*> inputs, std::vector<std::string> names, Node* place = nullptr) {
  Node* const list = graph.create(NodeKind::List, std::move(inputs), place);
  list->output()->set_type(Type::list(TypeKind::Tensor));
  Node* const call = graph.create("cresset_fused::run", {graph.constant(Datum(number)), list->output()}, place);
  call->set_attribute("fused", Datum(std::move(names)));
  return graph.create(NodeKind::Unpack, {call->output()}, place);
}

}  // namespace cresset::graph
