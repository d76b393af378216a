#pragma once
#include <cstdint>
#include <string>
#define C10_DEFINE_typed(type, name, value, help) type FLAGS_##name = value;
#define C10_DEFINE_int(name, value, help) C10_DEFINE_typed(int, name, value, help)
#define C10_DEFINE_int32(name, value, help) C10_DEFINE_typed(int32_t, name, value, help)
#define C10_DEFINE_int64(name, value, help) C10_DEFINE_typed(int64_t, name, value, help)
#define C10_DEFINE_double(name, value, help) C10_DEFINE_typed(double, name, value, help)
#define C10_DEFINE_bool(name, value, help) C10_DEFINE_typed(bool, name, value, help)
#define C10_DEFINE_string(name, value, help) C10_DEFINE_typed(std::string, name, value, help)
#define C10_DECLARE_typed(type, name) extern type FLAGS_##name;
#define C10_DECLARE_int(name) C10_DECLARE_typed(int, name)
#define C10_DECLARE_int32(name) C10_DECLARE_typed(int32_t, name)
#define C10_DECLARE_int64(name) C10_DECLARE_typed(int64_t, name)
#define C10_DECLARE_double(name) C10_DECLARE_typed(double, name)
#define C10_DECLARE_bool(name) C10_DECLARE_typed(bool, name)
#define C10_DECLARE_string(name) C10_DECLARE_typed(std::string, name)
