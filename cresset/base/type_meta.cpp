#include "cresset/base/type_meta.h"

#include <atomic>
#include <mutex>
#include <ostream>

#include "cresset/base/error.h"
#include "cresset/base/numbers/float8.h"

namespace cresset {

namespace detail {

namespace {

constexpr int kMostTypes = 1024;
TypeFacts g_types[kMostTypes];
std::atomic<int> g_count{0};
std::mutex g_mutex;

template <class T> TypeFacts number(const char* name) {
  return {sizeof(T),
          [] { return static_cast<void*>(new T); },
          nullptr,
          nullptr,
          nullptr,
          [](void* object) { delete static_cast<T*>(object); },
          TypeIdentifier::Get<T>(),
          name};
}

int count_with_dtypes() {
  static const bool filled = [] {
    const auto put = [](ScalarType t, TypeFacts f) { g_types[static_cast<int>(t)] = f; };
    put(ScalarType::Byte, number<uint8_t>("unsigned char"));
    put(ScalarType::Char, number<int8_t>("signed char"));
    put(ScalarType::Short, number<int16_t>("short int"));
    put(ScalarType::Int, number<int>("int"));
    put(ScalarType::Long, number<int64_t>("long int"));
    put(ScalarType::Half, number<Half>("c10::Half"));
    put(ScalarType::Float, number<float>("float"));
    put(ScalarType::Double, number<double>("double"));
    put(ScalarType::ComplexHalf, number<complex<Half>>("c10::complex<c10::Half>"));
    put(ScalarType::ComplexFloat, number<complex<float>>("c10::complex<float>"));
    put(ScalarType::ComplexDouble, number<complex<double>>("c10::complex<double>"));
    put(ScalarType::Bool, number<bool>("bool"));
    put(ScalarType::BFloat16, number<BFloat16>("c10::BFloat16"));
    put(ScalarType::UInt16, number<uint16_t>("short unsigned int"));
    put(ScalarType::UInt32, number<uint32_t>("unsigned int"));
    put(ScalarType::UInt64, number<uint64_t>("long unsigned int"));
    put(ScalarType::Float8_e5m2, number<Float8_e5m2>("c10::Float8_e5m2"));
    put(ScalarType::Float8_e4m3fn, number<Float8_e4m3fn>("c10::Float8_e4m3fn"));
    put(ScalarType::Float8_e5m2fnuz, number<Float8_e5m2fnuz>("c10::Float8_e5m2fnuz"));
    put(ScalarType::Float8_e4m3fnuz, number<Float8_e4m3fnuz>("c10::Float8_e4m3fnuz"));
    put(ScalarType::Float8_e8m0fnu, number<Float8_e8m0fnu>("c10::Float8_e8m0fnu"));
    put(ScalarType::Undefined, {0, nullptr, nullptr, nullptr, nullptr, nullptr, {}, "nullptr (uninitialized)"});
    g_count = static_cast<int>(ScalarType::NumOptions);
    return true;
  }();
  static_cast<void>(filled);
  return g_count.load(std::memory_order_acquire);
}

}  // namespace

const TypeFacts& type_facts(uint16_t index) {
  count_with_dtypes();
  return g_types[index];
}

uint16_t register_type(const TypeFacts& facts) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const int count = count_with_dtypes();
  for (int i = 0; i < count; i++)
    if (g_types[i].id == facts.id) return static_cast<uint16_t>(i);
  CRESSET_CHECK(count < kMostTypes, "TypeMeta: no room for \"", std::string(facts.name), "\", ", kMostTypes, " types are known");
  g_types[count] = facts;
  g_count.store(count + 1, std::memory_order_release);
  return static_cast<uint16_t>(count);
}

void throw_cannot(const char* what, std::string_view type) { throw Error(str("TypeMeta: type ", std::string(type), " ", what)); }

}  // namespace detail

void TypeMeta::throw_no_dtype() const { throw Error(str("TypeMeta: type ", std::string(name()), " is no dtype of tensors")); }

std::ostream& operator<<(std::ostream& out, TypeMeta t) { return out << t.name(); }

}  // namespace cresset
