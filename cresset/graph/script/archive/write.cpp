// Archives from modules.

#include <algorithm>

#include "cresset/base/util/reach.h"
#include "cresset/core/sparse.h"
#include "cresset/graph/script/archive.h"
#include "cresset/graph/script/dtype_number.h"
#include "cresset/graph/script/source_map.h"
#include "cresset/graph/script/sugar.h"
#include "cresset/graph/script/values.h"
#include "cresset/io/checkpoint.h"

namespace cresset::graph::script {

namespace {

// "__torch__.torch.nn.Linear": "__torch__.torch.nn" and "Linear".
std::pair<std::string, std::string> split_name(const std::string& qualified) {
  const size_t dot = qualified.rfind('.');
  return {qualified.substr(0, dot), qualified.substr(dot + 1)};
}

class Writer {
 public:
  Writer(io::Pickler& pickler, std::function<void(const Tensor&)> tensor, Referred& referred) : p_(pickler), tensor_(std::move(tensor)), referred_(referred) {}

  void put(const Datum& v, const Type& type) {
    const Type& t = type.kind() == TypeKind::Optional ? type.elements()[0] : type;
    if (v.is_none() || (v.is_tensor() && !v.to_tensor().defined())) return p_.none();
    const void* key = v.is_tensor() ? static_cast<const void*>(v.to_tensor().impl()) : v.object() ? v.object()->get() : nullptr;
    if (const auto found = seen_.find(key); key && found != seen_.end()) return p_.recall(found->second);
    CRESSET_CHECK(++depth_ < 1000, "save: containers nest deeper than 1000, or one contains itself");
    fresh(v, t);
    depth_--;
    if (key) seen_[key] = p_.memoize();
  }

 private:
  void fresh(const Datum& v, const Type& t) {
    if (v.is_tensor()) return tensor_(v.to_tensor());
    if (v.isBool()) return p_.boolean(v.toBool());
    if (v.isInt()) return p_.integer(v.toInt());
    if (v.isDouble()) return p_.real(v.toDouble());
    if (v.isComplexDouble()) return p_.complex(v.toComplexDouble().real(), v.toComplexDouble().imag(), "builtins");
    if (v.isString()) return p_.text(v.to_string());
    if (v.is<ScalarType>()) return p_.integer(number_of(v.to_dtype()));
    if (v.is<Layout>()) return p_.integer(number_of(v.to_layout()));
    if (v.is<MemoryFormat>()) return p_.integer(static_cast<int64_t>(v.to_memory_format()));
    if (v.is<Device>()) {
      p_.global("torch", "device");
      p_.mark();
      p_.text(v.to_device().str());
      p_.op('t');
      return p_.op('R');
    }
    if (v.isTuple()) return tuple(v, t);
    if (v.isGenericDict()) {
      tagged(t.kind() == TypeKind::Dict ? t : Type::of(v), [&] {
        p_.op('}');
        p_.mark();
        for (const auto& e : dict_of(v).entries) {
          put(e.key, t.kind() == TypeKind::Dict ? t.elements()[0] : Type());
          put(e.value, t.kind() == TypeKind::Dict ? t.elements()[1] : Type());
        }
        p_.op('u');
      });
      return;
    }
    if (v.isList()) {
      tagged(t.kind() == TypeKind::List ? t : Type::of(v), [&] {
        p_.op(']');
        p_.mark();
        for (const Datum& e : v.toListVector()) put(e, t.kind() == TypeKind::List ? t.elements()[0] : Type());
        p_.op('e');
      });
      return;
    }
    if (ScriptObject* o = object_of(v)) return object(*o);
    if (const auto* e = v.object() ? dynamic_cast<const EnumObject*>(v.object()->get()) : nullptr) {
      referred_.add(e->cls);
      const auto [home, name] = split_name(e->cls->name);
      p_.global(home, name);
      fresh(e->value(), {});
      p_.op('R');
      return;
    }
    if (custom_info_of(v)) {
      ClassType* cls = class_of(t);
      CRESSET_CHECK(cls, "save: an object of C++ where none is expected");
      const auto [home, name] = split_name(cls->name);
      p_.global(home, name);
      p_.op(')');
      p_.op('\x81');
      put(custom_state(v), custom_state_type(*cls));
      return p_.op('b');
    }
    CRESSET_CHECK(false, "save: ", v.kind(), " cannot be saved");
  }
  // The type stands beside lists and dicts, of which empty ones do not tell it.
  void tagged(const Type& t, const std::function<void()>& value) {
    p_.global("torch.jit._pickle", "restore_type_tag");
    value();
    referred_.add(t);
    p_.text(annotation_text(t));
    p_.op('\x86');
    p_.op('R');
  }
  void tuple(const Datum& v, const Type& t) {
    const auto& e = v.toTupleRef().elements();
    const bool named = t.kind() == TypeKind::Tuple && !t.name().empty();
    if (named) {
      referred_.add(t);
      const auto [home, name] = split_name(t.name());
      p_.global(home, name);
    }
    p_.mark();
    for (size_t i = 0; i < e.size(); i++) put(e[i], t.kind() == TypeKind::Tuple && i < t.elements().size() ? t.elements()[i] : Type());
    p_.op('t');
    if (named) p_.op('\x81');
  }
  void object(ScriptObject& o) {
    referred_.add(o.cls);
    const auto [home, name] = split_name(o.cls->name);
    p_.global(home, name);
    p_.op(')');
    p_.op('\x81');
    const auto found = o.cls->methods.find("__getstate__");
    if (found != o.cls->methods.end()) {
      put(found->second->run({Datum(intrusive_ptr<dispatch::Object>::share(&o))}), found->second->schema.returns[0]);
    } else {
      p_.op('}');
      p_.mark();
      for (const Attribute& a : o.cls->attributes) {
        p_.text(a.name);
        put(o.slot(a.name), a.type);
      }
      p_.op('u');
    }
    p_.op('b');
  }

  io::Pickler& p_;
  std::function<void(const Tensor&)> tensor_;
  Referred& referred_;
  std::unordered_map<const void*, uint32_t> seen_;
  int depth_ = 0;
};

void put_tensor(io::Pickler& p, const Tensor& given, StorageTable& storages);

// The number of a layout, the sizes, and the tensors that it is made of.
void put_sparse(io::Pickler& p, const Tensor& t, StorageTable& storages) {
  CRESSET_CHECK(t.layout() == Layout::Sparse || t.layout() == Layout::SparseCsr,
                "save: archives hold strided tensors and those of sparse_coo and sparse_csr, got one of layout ", layout_name(t.layout()));
  const SparseParts& parts = sparse_parts(t);
  p.global("torch._utils", "_rebuild_sparse_tensor");
  p.mark();
  p.integer(number_of(t.layout()));
  p.integers(t.sizes().data(), t.sizes().size());
  p.boolean(t.requires_grad());
  put_tensor(p, parts.indices, storages);
  if (parts.plain.defined()) put_tensor(p, parts.plain, storages);
  put_tensor(p, parts.values.detach(), storages);
  p.ordered_dict();
  p.op('t');
  p.op('R');
}

// A tensor as a reference to a storage, which is written to a file of its own. That of a meta tensor has no bytes.
void put_tensor(io::Pickler& p, const Tensor& given, StorageTable& storages) {
  if (given.layout() != Layout::Strided) return put_sparse(p, given, storages);
  Tensor t = given.is_conj() || given.is_neg() ? given.resolve_conj().resolve_neg() : given;
  const bool is_meta = t.is_meta();
  CRESSET_CHECK(is_meta || !t.lacks_data(), "save: expected a tensor with memory of its own");
  if (!is_meta && !t.device().is_cpu()) t = t.cpu();
  const intrusive_ptr<StorageImpl> storage = is_meta ? make_intrusive<StorageImpl>(size_t{0}, Device(kCPU)) : t.impl()->storage();
  const size_t number = storages.enter(storage);
  p.global("torch._utils", "_rebuild_tensor_v2");
  p.mark();
  const size_t reached =
      is_meta ? static_cast<size_t>(checked_reach("save", t.sizes(), t.strides(), t.storage_offset(), t.element_size())) * t.element_size() : storage->nbytes();
  p.storage(std::to_string(number) + storages.suffix, t.scalar_type(), reached, given.device().str());
  p.integer(t.storage_offset());
  p.integers(t.sizes().data(), t.sizes().size());
  p.integers(t.strides().data(), t.strides().size());
  p.boolean(given.requires_grad());
  p.ordered_dict();
  p.op('t');
  p.op('R');
}

}  // namespace

Datum module_of_function(Function& f) {
  f.ensure_defined();
  CRESSET_CHECK(f.graph, "save: ", short_name(f.name), " is no function of TorchScript");
  ClassType* cls = f.unit->create_class("__torch__.PlaceholderModule", ClassKind::Module);
  cls->add_attribute({"training", TypeKind::Bool});
  Schema s = f.schema;
  for (SchemaArgument& a : s.arguments) a.default_value.reset();  // as in PyTorch, whose archives of functions have none
  SchemaArgument self;
  self.name = "self";
  self.type = cls->type();
  s.arguments.insert(s.arguments.begin(), std::move(self));
  Function* forward = f.unit->create_function(cls->name + ".forward", std::move(s));
  forward->cls = cls;
  Function* const inner = &f;
  forward->define = [inner, cls](Function& made) {
    auto g = std::make_unique<Graph>(made.name);
    std::unordered_map<Value*, Value*> map;
    g->add_parameter(cls->type(), "self");
    for (const auto& p : inner->graph->block().parameters()) map[p.get()] = g->add_parameter(p->type(), p->name());
    const auto find = [&](Value* v) -> Value* {
      const auto found = map.find(v);
      if (found != map.end()) return found->second;
      Value* c = g->constant(*v->constant(), v->name());
      c->set_type(v->type());
      return map[v] = c;
    };
    for (const auto& n : inner->graph->block().nodes()) {
      if (n->kind() == NodeKind::Return) break;
      Node* copy = g->copy(*n, find, g->block().return_node());
      for (size_t i = 0; i < n->outputs().size(); i++) map[n->output(i)] = copy->output(i);
    }
    g->block().add_result(find(inner->graph->block().results()[0]));
    made.graph = std::move(g);
  };
  cls->methods["forward"] = forward;
  cls->method_order.push_back("forward");
  auto object = make_intrusive<ScriptObject>(cls, f.unit->shared_from_this());
  object->slot("training") = Datum(true);
  return Datum(intrusive_ptr<dispatch::Object>(std::move(object)));
}

size_t StorageTable::enter(const intrusive_ptr<StorageImpl>& storage) {
  const auto [at, is_new] = index.emplace(storage.get(), list.size());
  if (is_new) list.push_back(storage);
  return at->second;
}

void ArchiveParts::module(const Datum& module, const std::string& folder, StorageTable& storages) {
  ScriptObject* root = object_of(module);
  CRESSET_CHECK(root && root->cls->kind == ClassKind::Module, "save: expected a module of TorchScript");
  io::Pickler data;
  Writer(
      data, [&](const Tensor& t) { put_tensor(data, t, storages); }, referred_)
      .put(module, root->cls->type());
  // Texts name more classes and functions, whose texts name more.
  while (classes_ < referred_.classes.size() || functions_ < referred_.functions.size() || tuples_ < referred_.named_tuples.size()) next_text();
  record_(folder + "data.pkl", data.finish());
}

void ArchiveParts::next_text() {
  Places places;
  if (classes_ < referred_.classes.size()) {
    ClassType* cls = referred_.classes[classes_++];
    const std::string text = code_of(*cls, referred_, true, places);
    add_text(cls->name, text, std::move(places));
  } else if (functions_ < referred_.functions.size()) {
    Function* f = referred_.functions[functions_++];
    CRESSET_CHECK(!f->native, "save: '", short_name(f->name), "', a Python function, cannot be saved");
    const std::string text = code_of(*f, referred_, true, places);
    add_text(f->name, text, std::move(places));
  } else {
    const std::string name = referred_.named_tuples[tuples_++];
    for (const Type& t : named_tuple(name)->elements()) referred_.add(t);
    add_text(name, code_of_named_tuple(name), {});
  }
}

void ArchiveParts::add_text(const std::string& qualified, const std::string& code, Places places) {
  Text& file = texts_[split_name(qualified).first];
  file.places.push_back({file.text.size(), {}});
  for (Place& p : places) file.places.push_back({file.text.size() + p.at, std::move(p.range)});
  file.text += code;
}

void ArchiveParts::pickle(const std::string& name, StorageTable& storages, const Fill& fill) {
  io::Pickler pickler;
  Writer writer(
      pickler, [&](const Tensor& t) { put_tensor(pickler, t, storages); }, referred_);
  fill(pickler, [&](const Datum& v, const Type& type) { writer.put(v, type); });
  record_(name, pickler.finish());
}

void ArchiveParts::constants(const std::string& folder, StorageTable& storages) {
  pickle(folder + "constants.pkl", storages, [&](io::Pickler& pickler, const auto& value) {
    pickler.mark();
    for (const Datum& v : referred_.constants) value(v, {});
    pickler.op('t');
  });
}

void ArchiveParts::code(const std::string& folder) const {
  for (const auto& [home, file] : texts_) {
    std::string path = home;
    std::replace(path.begin(), path.end(), '.', '/');
    record_(folder + path + ".py", file.text);
    record_(folder + path + ".py.debug_pkl", write_source_map(file.places));
  }
}

void ArchiveParts::storages(const std::string& folder, const StorageTable& storages, size_t first) const {
  for (size_t i = first; i < storages.list.size(); i++)
    record_(folder + std::to_string(i) + storages.suffix, std::string_view(static_cast<const char*>(storages.list[i]->data()), storages.list[i]->nbytes()));
}

void ArchiveParts::whole(const Datum& module, const std::map<std::string, std::string>& extra, const std::function<void(StorageTable&)>& more) {
  StorageTable weights, constants_of_code;
  this->module(module, "", weights);
  record_("byteorder", "little");
  storages("data/", weights);
  code("code/");
  constants("", constants_of_code);
  if (more) more(constants_of_code);
  storages("constants/", constants_of_code);
  for (const auto& [name, content] : extra) record_("extra/" + name, content);
}

void save_archive(const Datum& module, const std::map<std::string, std::string>& extra, const std::string& folder, const io::WriteBytes& write) {
  io::ZipWriter zip(write, folder);
  ArchiveParts parts([&](const std::string& name, std::string_view bytes) { zip.add(name, bytes); });
  parts.whole(module, extra);
  zip.add("version", parts.version());
  zip.finish();
}

}  // namespace cresset::graph::script
