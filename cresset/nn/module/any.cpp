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
  CRESSET_CHECK(false, "Attempted to cast AnyValue to ", type_name(wanted), ", but its actual type is ", type_name(type_info()));
  std::abort();
}

namespace detail {

static const char* const kStateDefaults =
    "'s forward() method has default arguments, please make sure the forward() method is declared with a corresponding `FORWARD_HAS_DEFAULT_ARGS` macro.";

void throw_argument_count(const Module& module, size_t expected, size_t required, size_t got) {
  if (required < expected) {
    CRESSET_CHECK(false, module.name(), "'s forward() method expects at least ", required, " argument(s) and at most ", expected, " argument(s), but received ",
                  got, ".");
  }
  const std::string hint = got < expected ? " If " + module.name() + kStateDefaults : std::string();
  CRESSET_CHECK(false, module.name(), "'s forward() method expects ", expected, " argument(s), but received ", got, ".", hint);
  std::abort();
}

void throw_argument_type(const Module& module, size_t position, const std::type_info& expected, const std::type_info& got) {
  CRESSET_CHECK(false, module.name(), ": Expected argument #", position, " to be of type ", type_name(expected), ", but received value of type ",
                type_name(got));
  std::abort();
}

void throw_any_module(const char* what, const std::type_info* wanted, const std::type_info* held) {
  if (wanted && held) CRESSET_CHECK(false, "AnyModule: Attempted to cast module of type ", type_name(*held), " to ", type_name(*wanted));
  CRESSET_CHECK(false, "Cannot call ", what, " on an empty AnyModule");
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
