#pragma once
// Classes from texts, as archives hold them.

#include "cresset/graph/script/archive.h"
#include "torch/csrc/jit/frontend/source_range.h"
#include "torch/detail/script_objects.h"

namespace torch::jit {

using SourceLoader = std::function<std::shared_ptr<Source>(const std::string& qualifier)>;

class SourceImporter {
 public:
  // `constants`: those that the texts name by numbers; null: none.
  SourceImporter(const std::shared_ptr<CompilationUnit>& unit, const std::vector<at::IValue>* constants, SourceLoader load, size_t version)
      : source_(unit, constants ? *constants : std::vector<at::IValue>(), std::move(load), static_cast<int64_t>(version)) {}
  // The class is compiled into the unit. Errors: the texts have none of this name, or do not compile.
  c10::TypePtr loadType(const c10::QualifiedName& name) {
    if (auto* const cls = source_.class_named(name.qualifiedName())) return c10::ClassType::of(*cls);
    return c10::type_of(source_.type_named(name.qualifiedName()));
  }

 private:
  cresset::graph::script::ClassSource source_;
};

}  // namespace torch::jit
