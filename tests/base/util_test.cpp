// Small containers, text and graphs.
#include <gtest/gtest.h>

#include <unistd.h>

#include <sstream>
#include <string>

#include "cresset/base/util/containers.h"
#include "cresset/base/util/metaprogramming.h"
#include "cresset/base/util/network_flow.h"
#include "cresset/base/util/ordered_map.h"
#include "cresset/base/util/temp_file.h"
#include "cresset/base/util/text.h"
#include "cresset/base/util/type_index.h"
#include "cresset/base/warning_handler.h"

namespace cresset {
namespace {

TEST(Bitset, VisitsItsBitsInOrder) {
  utils::bitset b;
  for (const size_t i : {5, 2, 63, 0}) b.set(i);
  b.unset(2);
  std::vector<size_t> seen;
  b.for_each_set_bit([&](size_t i) { seen.push_back(i); });
  EXPECT_EQ(seen, (std::vector<size_t>{0, 5, 63}));
}

TEST(LeftRight, WritesAreSeenAndFailuresUndone) {
  LeftRight<std::vector<int>> list;
  list.write([](std::vector<int>& v) { v.push_back(1); });
  EXPECT_THROW(list.write([](std::vector<int>& v) {
    v.push_back(2);
    throw std::runtime_error("no");
  }),
               std::runtime_error);
  EXPECT_EQ(list.read([](const std::vector<int>& v) { return v.size(); }), 1u);
}

TEST(OptimisticLazy, IsMadeOnceAndCopied) {
  int calls = 0;
  const auto make = [&] {
    calls++;
    return std::string("made");
  };
  OptimisticLazy<std::string> lazy;
  EXPECT_EQ(&lazy.ensure(make), &lazy.ensure(make));
  auto copy = lazy;
  EXPECT_EQ(copy.ensure(make), "made");
  auto moved = std::move(lazy);
  EXPECT_EQ(calls, 1);
  lazy.ensure(make);
  EXPECT_EQ(calls, 2);
}

struct Item : IntrusiveListHook {};

TEST(ArrayRef, RefersToWhateverHasDataAndSize) {
  struct Span {
    const int* data() const { return first; }
    size_t size() const { return 2; }
    const int* first;
  };
  const std::array<int, 2> two = {1, 2};
  EXPECT_EQ(ArrayRef<int>(two), ArrayRef<int>(Span{two.data()}));
  EXPECT_EQ(ArrayRef<char>(std::string("ab")).size(), 2u);
  std::ostringstream out;
  out << ArrayRef<double>({0.5, 2}) << ArrayRef<std::string>();
  EXPECT_EQ(out.str(), "[0.5, 2][]");
}

TEST(IntrusiveList, LinksAndUnlinks) {
  Item a, b;
  IntrusiveList<Item> list({a, b});
  EXPECT_EQ(list.size(), 2u);
  EXPECT_EQ(list.iterator_to(b), ++list.begin());
  list.begin()->unlink();
  EXPECT_EQ(&*list.begin(), &b);
  EXPECT_EQ(&*list.rbegin(), &b);
  EXPECT_THROW(a.unlink(), Error);
  EXPECT_THROW(list.insert(list.end(), b), Error);
}

TEST(OrderedMap, KeepsTheOrderOfInsertion) {
  OrderedMap<std::string, int> map{{"b", 1}, {"a", 2}, {"c", 3}};
  map["b"] = 4;
  EXPECT_EQ(map.begin()->second, 4);
  EXPECT_EQ(map.erase("a"), 1u);
  EXPECT_EQ(map.find("c")->second, 3);
  EXPECT_EQ(map.size(), 2u);
  EXPECT_EQ(map, (OrderedMap<std::string, int>{{"c", 3}, {"b", 4}}));
  EXPECT_THROW(map.at("a"), std::out_of_range);
}

TEST(TypeList, FiltersMapsAndReverses) {
  using namespace guts::typelist;
  using L = typelist<int, float&, char>;
  static_assert(std::is_same<reverse_t<L>, typelist<char, float&, int>>::value, "");
  static_assert(std::is_same<filter_t<std::is_reference, L>, typelist<float&>>::value, "");
  static_assert(std::is_same<take_t<drop_t<L, 1>, 1>, typelist<float&>>::value, "");
  static_assert(find_if<L, std::is_reference>::value == 1 && contains<L, char>::value, "");
  EXPECT_EQ((guts::extract_arg_by_filtered_index<std::is_integral, 1>(3, "x", 4)), 4);
}

TEST(TypeIndex, IsOneForEachPlainType) {
  static_assert(util::get_type_index<int>() == util::get_type_index<const int&>(), "");
  static_assert(util::get_type_index<int>() != util::get_type_index<int*>(), "");
  EXPECT_EQ(util::crc64("123456789").checksum(), 0xe9c6d914c4b8d9cau);
}

TEST(NetworkFlow, FindsTheSmallestCut) {
  NetworkFlowGraph g;
  g.add_edge("a", "b", 3);
  g.add_edge("a", "c", 2);
  g.add_edge("b", "c", 1);
  g.add_edge("b", "d", 1);
  g.add_edge("c", "d", 4);
  const MinCutResult cut = g.minimum_cut("a", "d");
  EXPECT_EQ(cut.status, MinCutStatus::SUCCESS);
  EXPECT_EQ(cut.max_flow, 4);
  EXPECT_EQ(g.minimum_cut("a", "z").status, MinCutStatus::INVALID);
  g.add_edge("a", "d", NetworkFlowGraph::INF);
  EXPECT_EQ(g.minimum_cut("a", "d").status, MinCutStatus::UNBOUNDED);
}

TEST(Text, ReadsWholeNumbersOnly) {
  EXPECT_EQ(tryToNumber<int64_t>("0x123"), 291);
  EXPECT_FALSE(tryToNumber<int64_t>("12a"));
  EXPECT_FALSE(tryToNumber<int64_t>(nullptr));
  EXPECT_EQ(tryToNumber<double>("-.5"), -0.5);
  EXPECT_EQ(Join(", ", std::vector<int>{1, 2}), "1, 2");
  EXPECT_EQ(utf8_of(L"\u00EC"), "\xC3\xAC");
}

TEST(TempFile, GoesWithItsOwner) {
  std::string name;
  {
    const TempFile file = make_tempfile();
    name = file.name;
    EXPECT_EQ(::access(name.c_str(), 0), 0);
  }
  EXPECT_NE(::access(name.c_str(), 0), 0);
}

TEST(Warnings, GoToTheHandlerOfTheThread) {
  struct Collected : warnings::WarningHandler {
    void process(const warnings::Warning& w) override { text += w.msg(); }
    std::string text;
  } collected;
  {
    const warnings::WarningHandlerGuard guard(&collected);
    warn("first, ");
    warnings::warn(warnings::Warning(warnings::Warning::DeprecationWarning(), {}, "second"));
  }
  EXPECT_EQ(collected.text, "first, second");
}

}  // namespace
}  // namespace cresset
