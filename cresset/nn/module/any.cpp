#include "cresset/nn/module/any.h"

#include <cxxabi.h>

#include <cstdlib>

namespace cresset::nn {

namespace {

std::string type_name(const std::type_info& type) {
  int status = 0;
  char* text = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string result = status == 0 && text ? text : type.name();
  std::free(text);
  return result;
}

}  // namespace

void AnyValue::throw_type(const std::type_info& wanted) const {
  CRESSET_CHECK(false, "AnyValue: it holds ", type_name(type_info()), ", got a request for ", type_name(wanted));
  std::abort();
}

namespace detail {

void throw_argument_count(const Module& module, size_t expected, size_t required, size_t got) {
  if (required < expected) {
    CRESSET_CHECK(false, module.name(), ": forward expects at least ", required, " and at most ", expected, " arguments, got ", got,
                  "; every call through a container passes all that have no default");
  }
  CRESSET_CHECK(false, module.name(), ": forward expects ", expected, " arguments, got ", got,
                "; if it has default arguments, state them with FORWARD_HAS_DEFAULT_ARGS");
  std::abort();
}

void throw_argument_type(const Module& module, size_t position, const std::type_info& expected, const std::type_info& got) {
  CRESSET_CHECK(false, module.name(), ": argument ", position, " of forward has the wrong type, got ", type_name(got), ", expected ", type_name(expected));
  std::abort();
}

void throw_any_module(const char* what, const std::type_info* wanted, const std::type_info* held) {
  if (wanted && held) CRESSET_CHECK(false, "AnyModule: ", what, ": it holds ", type_name(*held), ", expected ", type_name(*wanted));
  CRESSET_CHECK(false, "AnyModule: ", what);
  std::abort();
}

void throw_result_type(const std::type_info& held, const std::type_info& wanted) {
  CRESSET_CHECK(false, "Sequential: The type of the return value is ", type_name(held), ", but you asked for type ", type_name(wanted));
  std::abort();
}

}  // namespace detail

AnyModule AnyModule::clone(std::optional<Device> device) const {
  AnyModule clone;
  if (content_) clone.content_ = content_->clone_module(device);
  return clone;
}

}  // namespace cresset::nn
