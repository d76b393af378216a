// SmallVector grows out of its object, and takes its own elements as arguments.
#include "cresset/base/small_vector.h"

#include <gtest/gtest.h>

#include <list>
#include <string>

#include "cresset/base/error.h"

namespace cresset {
namespace {

using Strings = SmallVector<std::string, 2>;

TEST(SmallVector, WithoutInlineElementsGrowsOnTheHeap) {
  SmallVector<int, 0> v;
  for (int i = 0; i < 100; i++) v.push_back(i);
  EXPECT_EQ(v.size(), 100u);
  EXPECT_EQ(v[99], 99);
}

TEST(SmallVector, AppendsAndInsertsItsOwnElements) {
  Strings v{"a long string that lies on the heap", "another long string on the heap"};
  v.append(v.begin(), v.end());
  EXPECT_EQ(v, (Strings{v[0], v[1], v[0], v[1]}));
  v.push_back(v.back());
  EXPECT_EQ(v[4], v[3]);
  v.insert(v.begin(), v.back());
  EXPECT_EQ(v[0], v[5]);
  v.insert(v.begin() + 1, 3, v[2]);
  EXPECT_EQ(v[1], v[5]);
  v.insert(v.begin(), v.begin() + 1, v.begin() + 3);
  EXPECT_EQ(v[0], v[3]);
  v.assign(7, v[4]);
  EXPECT_EQ(v, Strings(7, v[0]));
  v.resize(20, v[3]);
  EXPECT_EQ(v[19], v[0]);
}

TEST(SmallVector, InsertsErasesAndTakesRanges) {
  SmallVector<int, 3> v{1, 2, 3};
  EXPECT_EQ(*v.insert(v.begin() + 1, 7), 7);
  const std::list<int> more{8, 9};
  v.insert(v.begin(), more.begin(), more.end());
  EXPECT_EQ(v, (SmallVector<int, 3>{8, 9, 1, 7, 2, 3}));
  v.erase(v.begin() + 1, v.begin() + 3);
  EXPECT_EQ(v, (SmallVector<int, 3>{8, 7, 2, 3}));
  v.insert(v.end(), 2, 5);
  EXPECT_EQ(v.pop_back_val(), 5);
  v.pop_back_n(2);
  EXPECT_EQ(v, (SmallVector<int, 3>{8, 7, 2}));
  v.assign(more.begin(), more.end());
  EXPECT_EQ(v.size(), 2u);
  EXPECT_EQ(*v.rbegin(), 9);
  EXPECT_THROW(v.at(2), Error);
}

TEST(SmallVector, MovesBetweenCapacities) {
  SmallVector<std::string, 4> small{"a", "b", "c"};
  SmallVector<std::string, 1> large(std::move(static_cast<SmallVectorImpl<std::string>&>(small)));
  EXPECT_EQ(large.size(), 3u);
  EXPECT_TRUE(small.empty());
  const std::string* address = large.data();
  small = std::move(static_cast<SmallVectorImpl<std::string>&>(large));
  EXPECT_EQ(small.data(), address);
  large.push_back("again");
  small.swap(large);
  EXPECT_EQ(small.front(), "again");
  EXPECT_EQ(large.back(), "c");
  EXPECT_TRUE(small < large || large < small);
}

TEST(ArrayRef, SlicesAndElementsAreChecked) {
  const std::vector<int> v{1, 2, 3};
  const ArrayRef<int> a(v);
  EXPECT_EQ(*a.rbegin(), 3);
  EXPECT_EQ(a.slice(1), makeArrayRef(v).slice(1, 2));
  EXPECT_THROW(a.slice(2, 2), Error);
  EXPECT_THROW(a.at(3), Error);
  EXPECT_THROW(ArrayRef<int>().front(), Error);
}

}  // namespace
}  // namespace cresset
