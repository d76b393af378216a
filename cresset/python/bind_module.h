#pragma once
// A C++ module as a class of Python that is a torch.nn.Module: its parameters, buffers and children are those of the C++ object.
//
//   bind_module<NetImpl>(m, "Net").def(pybind11::init<int64_t>()).def("forward", &NetImpl::forward);

#include <memory>
#include <sstream>

#include "cresset/nn/module/module.h"
#include "cresset/python/pybind11.h"

namespace cresset::python_api {

template <class Named> pybind11::list pairs(const Named& named) {
  pybind11::list out;
  for (const auto& item : named) out.append(pybind11::make_tuple(item.key(), item.value()));
  return out;
}

// The members of the C++ object that torch.nn.cpp.ModuleWrapper calls.
template <class Class> Class add_module_bindings(Class made) {
  using M = typename Class::type;
  made.def(
          "named_parameters", [](const M& m, bool recurse) { return pairs(m.named_parameters(recurse)); }, pybind11::arg("recurse") = true)
      .def(
          "named_buffers", [](const M& m, bool recurse) { return pairs(m.named_buffers(recurse)); }, pybind11::arg("recurse") = true)
      .def("named_children", [](const M& m) { return pairs(m.named_children()); })
      .def(
          "train", [](M& m, bool on) { m.train(on); }, pybind11::arg("mode") = true)
      .def("eval", [](M& m) { m.train(false); })
      .def("is_training", [](const M& m) { return m.is_training(); })
      .def("clone", [](const M& m) { return m.clone(); })
      .def(
          "zero_grad", [](M& m, bool set_to_none) { m.zero_grad(set_to_none); }, pybind11::arg("set_to_none") = true)
      .def("__repr__", [](const M& m) {
        std::ostringstream text;
        m.pretty_print(text);
        return text.str();
      });
  return made;
}

// Children are known by their base alone. A template, so that extensions without modules do not compile it.
template <class Base> void bind_module_base() {
  if (!pybind11::detail::get_type_info(typeid(Base), false))
    add_module_bindings(pybind11::class_<Base, std::shared_ptr<Base>>(pybind11::module_::import("cresset.nn.cpp"), "_Module"));
}

template <class M, bool ForceEnable = false> pybind11::class_<M, std::shared_ptr<M>> bind_module(pybind11::module_ m, const char* name) {
  static_assert(std::is_base_of<nn::Module, M>::value, "bind_module: expected a class derived from nn::Module");
  bind_module_base<nn::Module>();
  pybind11::module_ inner = m.def_submodule("cpp");
  auto made = add_module_bindings(pybind11::class_<M, std::shared_ptr<M>>(inner, name));
  m.attr(name) = pybind11::module_::import("cresset.nn.cpp").attr("_wrapper_class")(name, made);
  return made;
}

}  // namespace cresset::python_api
