#include "cresset/graph/script/archive/reader.h"

#include <algorithm>

#include "cresset/base/util/reach.h"
#include "cresset/graph/script/dtype_number.h"
#include "cresset/graph/script/values.h"
#include "cresset/ops/functions.h"

namespace cresset::graph::script {

ArchiveReader::ArchiveReader(const io::ZipReader& zip, const io::ByteSource& source, const std::string& pickle, const std::string& folder,
                             const LoadOptions& options, ArchiveNames* names)
    : zip_(zip), source_(source), folder_(folder), options_(options), names_(names) {
  text_ = zip.read(need(pickle));
  std::string_view bytes = text_;
  io::UnpickleOptions unpickle;
  unpickle.file = pickle;
  unpickle.script = true;
  root_ = io::unpickle(document_, bytes, unpickle);
}

const io::ZipEntry& ArchiveReader::need(const std::string& name) const {
  const io::ZipEntry* e = zip_.find(name);
  CRESSET_CHECK(e, "archive: there is no file ", name);
  return *e;
}

Datum ArchiveReader::value(io::NodeId id, const Type& type) {
  if (const auto found = made_.find(id); found != made_.end()) return found->second;
  CRESSET_CHECK(++depth_ < 1000, "archive: values nest deeper than 1000");
  Datum v = fresh(id, type.kind() == TypeKind::Optional ? type.elements()[0] : type);
  depth_--;
  if (v.object() || v.is_tensor()) made_[id] = v;
  return v;
}

namespace {

Type part(const Type& t, TypeKind kind, size_t i) { return t.kind() == kind && i < t.elements().size() ? t.elements()[i] : Type(); }

}  // namespace

Datum ArchiveReader::fresh(io::NodeId id, const Type& t) {
  const io::Node& n = document_[id];
  using io::Kind;
  switch (n.kind) {
    case Kind::None: return {};
    case Kind::Bool: return Datum(n.flag);
    case Kind::Int:
      if (t.kind() == TypeKind::DType) return Datum(dtype_of_number(n.integer));
      return Datum(n.integer);
    case Kind::Float: return Datum(n.real);
    case Kind::Complex: return Datum(complex<double>(n.real, n.imaginary));
    case Kind::Text: return Datum(std::string(n.text));
    case Kind::DType: return Datum(n.dtype);
    case Kind::Device: {
      std::string name(n.text);
      if (n.place) name = std::string(n.text);
      return Datum(Device(name));
    }
    case Kind::List: {
      const Type element = part(t, TypeKind::List, 0);
      std::vector<Datum> out;
      for (const io::NodeId e : document_.children(id)) out.push_back(value(e, element));
      const Type of = t.kind() == TypeKind::List ? element : out.empty() ? Type() : Type::of(out[0]);
      return make_list(element_kind(of), std::move(out));
    }
    case Kind::Tuple: {
      std::vector<Datum> out;
      const auto& children = document_.children(id);
      for (size_t i = 0; i < children.size(); i++) out.push_back(value(children[i], part(t, TypeKind::Tuple, i)));
      return Datum(dispatch::TupleObject::create(std::move(out)));
    }
    case Kind::Dict:
    case Kind::OrderedDict: {
      const Type key = part(t, TypeKind::Dict, 0), item = part(t, TypeKind::Dict, 1);
      auto d = make_intrusive<dispatch::DictObject>(element_kind(key), element_kind(item));
      const auto& children = document_.children(id);
      for (size_t i = 0; i + 1 < children.size(); i += 2) d->insert(value(children[i], key), value(children[i + 1], item));
      return Datum(intrusive_ptr<dispatch::Object>(std::move(d)));
    }
    case Kind::Tensor: return tensor(document_.tensors[n.place]);
    case Kind::Object: return object(id);
    default: CRESSET_CHECK(false, "archive: a value of an unknown kind in ", folder_, ".pkl");
  }
}

Tensor ArchiveReader::sparse_tensor(const io::TensorRecord& record) {
  std::vector<Tensor> parts;
  for (const io::NodeId id : document_.children(record.parts))
    if (document_[id].kind == io::Kind::Tensor) parts.push_back(value(id, {}).to_tensor());
  for (const Tensor& part : parts)
    CRESSET_CHECK(part.device() == parts[0].device(), "archive: the parts of a sparse tensor lie on different devices, ", parts[0].device(), " and ",
                  part.device());
  const std::vector<int64_t> sizes = document_.integers(record.sizes);
  if (parts.size() == 2) return sparse_coo_tensor(parts[0], parts[1], sizes, {}, false);
  return sparse_compressed_tensor(parts[0], parts[1], parts[2], sizes, TensorOptions().layout(Layout::SparseCsr));
}

Datum ArchiveReader::tensor(const io::TensorRecord& record) {
  Tensor t;
  if (record.layout != io::kNoNode) {
    t = sparse_tensor(record);
  } else if (record.storage == io::kNoNode || document_.storages[record.storage].location == "meta") {
    const std::vector<int64_t> sizes = document_.integers(record.sizes), strides = document_.integers(record.strides);
    t = empty_strided(sizes, strides, TensorOptions(record.dtype).device(kMeta));
    checked_reach("archive", sizes, strides, record.offset, t.element_size());
    t.impl()->set_geometry(sizes, strides, record.offset);
  } else {
    const auto storage = storage_of(record.storage);
    t = empty({0}, TensorOptions(record.dtype));
    t.set_(Storage(storage), record.offset, document_.integers(record.sizes), document_.integers(record.strides));
  }
  if (options_.device && !t.is_meta()) t = t.to(*options_.device);
  if (record.requires_grad) t.requires_grad_(true);
  return Datum(std::move(t));
}

intrusive_ptr<StorageImpl> ArchiveReader::storage_of(uint32_t index) {
  if (const auto found = storages_.find(index); found != storages_.end()) return found->second;
  const io::StorageRecord& record = document_.storages[index];
  const io::ZipEntry& entry = need(folder_ + "/" + std::string(record.key));
  zip_.check_stored(entry);
  CRESSET_CHECK(record.nbytes <= entry.size, "archive: storage ", std::string(record.key), " has ", entry.size, " bytes, expected ", record.nbytes);
  auto storage = make_intrusive<StorageImpl>(static_cast<size_t>(record.nbytes), Device(kCPU));
  if (record.nbytes) source_.read(entry.data_offset, storage->data(), static_cast<size_t>(record.nbytes));
  return storages_[index] = std::move(storage);
}

// [callable, arguments, changes...]
Datum ArchiveReader::object(io::NodeId id) {
  const auto& parts = document_.children(id);
  CRESSET_CHECK(parts.size() >= 2, "archive: an object without a class");
  const io::Node& callable = document_[parts[0]];
  CRESSET_CHECK(callable.kind == io::Kind::Global, "archive: an object whose class is no name");
  std::string name(callable.text);
  std::replace(name.begin(), name.end(), '\n', '.');
  if (callable.known == io::Known::RestoreTag || name == "torch.jit._pickle.restore_type_tag") {
    const auto& a = document_.children(parts[1]);
    CRESSET_CHECK(a.size() == 2 && names_, "archive: a type without a value");
    return value(a[0], names_->type_named(std::string(document_[a[1]].text)));
  }
  CRESSET_CHECK(names_, "archive: objects of classes cannot stand among the constants");
  if (const auto t = names_->tuple_named(name)) return value(parts[1], *t);
  // Only named tuples are made of values.
  if (names_->are_open() && document_[parts[1]].kind == io::Kind::Tuple && !document_.children(parts[1]).empty()) return value(parts[1], {});
  ClassType* cls = names_->class_named(name);
  CRESSET_CHECK(cls, "archive: there is no class ", name);
  if (cls->kind == ClassKind::Enum) {
    Datum given = value(parts[1], {});
    if (given.isTuple() && given.toTupleRef().size() == 1) given = Datum(given.toTupleRef().elements()[0]);
    for (size_t i = 0; i < cls->members.size(); i++)
      if (cls->members[i].second == given) return Datum(intrusive_ptr<dispatch::Object>(make_intrusive<EnumObject>(cls, i)));
    CRESSET_CHECK(false, "archive: ", name, " has no member of value ", python_repr(given));
  }
  if (cls->custom) {
    CRESSET_CHECK(parts.size() >= 4, "archive: an object of ", name, " without a state");
    return custom_from_state(*cls, value(parts[3], custom_state_type(*cls)));
  }
  auto made = make_intrusive<ScriptObject>(cls, cls->unit->shared_from_this());
  const Datum self{intrusive_ptr<dispatch::Object>(made)};
  made_[id] = self;
  for (size_t i = 2; i + 1 < parts.size(); i += 2) {
    const io::NodeId state = parts[i + 1];
    if (Function* set = cls->method("__setstate__")) {
      set->ensure_defined();
      pending_.push_back([set, self, v = value(state, set->schema.arguments.at(1).type)] { set->run({self, v}); });
      continue;
    }
    set_state(*made, state);
  }
  return self;
}

void ArchiveReader::set_state(ScriptObject& object, io::NodeId state) {
  ClassType& cls = *object.cls;
  CRESSET_CHECK(document_[state].kind == io::Kind::Dict, "archive: the state of ", cls.name, " is no dict");
  const auto& entries = document_.children(state);
  for (size_t k = 0; k + 1 < entries.size(); k += 2) {
    const std::string key(document_[entries[k]].text);
    const Attribute* a = cls.attribute(key);
    if (!a && !names_->are_open()) continue;
    const Datum v = value(entries[k + 1], a ? a->type : Type());
    if (!a) {
      // The value may have made other objects of the class.
      if (!cls.attribute(key)) cls.add_attribute({key, Type()});
      a = cls.attribute(key);
    }
    CRESSET_CHECK(value_fits(v, a->type), "archive: attribute '", key, "' of ", cls.name, " is of type ", annotation_text(a->type), ", got ", v.kind());
    object.setSlot(static_cast<size_t>(cls.slot_of(key)), v);
  }
}

void ArchiveReader::finish() {
  for (const auto& f : pending_) f();
}

}  // namespace cresset::graph::script
