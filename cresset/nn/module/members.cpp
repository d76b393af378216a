#include "cresset/nn/module/members.h"

#include <cstring>
#include <mutex>
#include <typeindex>
#include <vector>

#include "cresset/nn/more.h"

namespace cresset::nn::detail {

namespace {

struct Declared {
  std::type_index type;
  std::string name;
  MemberGetter getter;
  // A pointer to a member, whatever the class.
  std::vector<char> member;
};
struct DeclaredMembers {
  std::mutex mutex;
  std::vector<Declared> all;
};
DeclaredMembers& declared_members() {
  static DeclaredMembers* members = new DeclaredMembers();
  return *members;
}

// The member of that name if the module is an M, else null.
template <class M> Tensor* in(Module& module, const std::string& name) {
  M* own = dynamic_cast<M*>(&module);
  if (!own) return nullptr;
#define CRESSET_MEMBER(member)             \
  if constexpr (requires { own->member; }) \
    if (name == #member) return &own->member;
  CRESSET_MEMBER(weight)
  CRESSET_MEMBER(bias)
  CRESSET_MEMBER(running_mean)
  CRESSET_MEMBER(running_var)
  CRESSET_MEMBER(num_batches_tracked)
  CRESSET_MEMBER(weight_ih)
  CRESSET_MEMBER(weight_hh)
  CRESSET_MEMBER(bias_ih)
  CRESSET_MEMBER(bias_hh)
  CRESSET_MEMBER(in_proj_weight)
  CRESSET_MEMBER(in_proj_bias)
  CRESSET_MEMBER(q_proj_weight)
  CRESSET_MEMBER(k_proj_weight)
  CRESSET_MEMBER(v_proj_weight)
  CRESSET_MEMBER(bias_k)
  CRESSET_MEMBER(bias_v)
#undef CRESSET_MEMBER
  return nullptr;
}

template <class... M> Tensor* in_any(Module& module, const std::string& name) {
  Tensor* found = nullptr;
  static_cast<void>(((found = in<M>(module, name)) || ...));
  return found;
}

}  // namespace

void declare_member(const std::type_info& type, const std::string& name, MemberGetter getter, const void* member, size_t size) {
  DeclaredMembers& members = declared_members();
  const std::lock_guard<std::mutex> guard(members.mutex);
  for (const Declared& d : members.all)
    if (d.type == type && d.name == name) return;
  std::vector<char> bytes(size);
  std::memcpy(bytes.data(), member, size);
  members.all.push_back({type, name, getter, std::move(bytes)});
}

Tensor* find_member(Module& module, const std::string& name) {
  if (Tensor* own =
          in_any<LinearImpl, Conv1dImpl, Conv2dImpl, Conv3dImpl, BatchNorm1dImpl, BatchNorm2dImpl, BatchNorm3dImpl, LayerNormImpl, EmbeddingImpl,
                 MultiheadAttentionImpl, GroupNormImpl, RMSNormImpl, PReLUImpl, BilinearImpl, ConvTranspose1dImpl, ConvTranspose2dImpl, ConvTranspose3dImpl,
                 InstanceNorm1dImpl, InstanceNorm2dImpl, InstanceNorm3dImpl, EmbeddingBagImpl, RNNCellImpl, LSTMCellImpl, GRUCellImpl>(module, name))
    return own;
  if (auto* norm = module.as<utils::parametrizations::detail::SpectralNormImpl>()) return name == "_u" ? &norm->u : name == "_v" ? &norm->v : nullptr;
  if (auto* map = module.as<utils::parametrizations::detail::OrthogonalImpl>()) return name == "base" ? &map->base : nullptr;
  DeclaredMembers& members = declared_members();
  const std::lock_guard<std::mutex> guard(members.mutex);
  for (const Declared& d : members.all)
    if (d.name == name)
      if (Tensor* own = d.getter(module, d.member.data())) return own;
  return nullptr;
}

}  // namespace cresset::nn::detail
