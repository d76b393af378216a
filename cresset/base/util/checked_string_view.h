#pragma once
// Text that is referred to, as LibTorch's own class of it: prefixes and suffixes are looked for in C++17 too, and those that are removed
// must be there.

#include <stdexcept>
#include <string>
#include <string_view>

namespace cresset {

template <class C> class CheckedStringView : public std::basic_string_view<C> {
  using Base = std::basic_string_view<C>;

 public:
  using Base::Base;
  constexpr CheckedStringView() noexcept = default;
  constexpr CheckedStringView(Base text) noexcept : Base(text) {}
  CheckedStringView(const std::basic_string<C>& text) noexcept : Base(text) {}
  explicit operator std::basic_string<C>() const { return std::basic_string<C>(this->data(), this->size()); }

  constexpr bool starts_with(Base prefix) const noexcept { return this->size() >= prefix.size() && Base::substr(0, prefix.size()) == prefix; }
  constexpr bool starts_with(C prefix) const noexcept { return !this->empty() && this->front() == prefix; }
  constexpr bool ends_with(Base suffix) const noexcept { return this->size() >= suffix.size() && Base::substr(this->size() - suffix.size()) == suffix; }
  constexpr bool ends_with(C suffix) const noexcept { return !this->empty() && this->back() == suffix; }
  constexpr CheckedStringView substr(size_t start = 0, size_t count = Base::npos) const { return Base::substr(start, count); }
  // Errors: std::out_of_range, the text is shorter.
  constexpr void remove_prefix(size_t n) { n <= this->size() ? Base::remove_prefix(n) : refuse("prefix", "PrefixLength", n, this->size()); }
  constexpr void remove_suffix(size_t n) { n <= this->size() ? Base::remove_suffix(n) : refuse("suffix", "SuffixLength", n, this->size()); }
  constexpr void swap(CheckedStringView& o) noexcept {
    const CheckedStringView before = *this;
    *this = o;
    o = before;
  }
  friend constexpr void swap(CheckedStringView& a, CheckedStringView& b) noexcept { a.swap(b); }

 private:
  [[noreturn]] static void refuse(const char* part, const char* length, size_t n, size_t size) {
    throw std::out_of_range(std::string("basic_string_view::remove_") + part + ": out of range. " + length + ": " + std::to_string(n) +
                            ", size: " + std::to_string(size));
  }
};

}  // namespace cresset

namespace std {
template <class C> struct hash<cresset::CheckedStringView<C>> : hash<std::basic_string_view<C>> {};
}  // namespace std
