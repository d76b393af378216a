#pragma once
// The tables of a module, for functions of the room that exchange what is in them.

#include "cresset/nn/module/module.h"

namespace cresset::nn::detail {

struct Tables : Module {
  static OrderedDict<std::string, Tensor>& parameters(Module& m) { return m.*&Tables::parameters_; }
  static OrderedDict<std::string, Tensor>& buffers(Module& m) { return m.*&Tables::buffers_; }
  static OrderedDict<std::string, std::shared_ptr<Module>>& children(Module& m) { return m.*&Tables::children_; }
  static void copy_state(const Module& from, Module& to, const std::optional<Device>& device) { (from.*&Tables::copy_state_to)(to, device); }
  // The parameter or buffer of that name; null: there is none.
  static Tensor* find(Module& m, const std::string& name) {
    Tensor* found = parameters(m).find(name);
    return found ? found : buffers(m).find(name);
  }
};

}  // namespace cresset::nn::detail
