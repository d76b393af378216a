#pragma once
// Optimizers and lists of numbers in archives, under LibTorch's names.

#include <deque>
#include <vector>

#include "cresset/optim/optimizer.h"

namespace cresset::optim {

inline void serialize(serialize::OutputArchive& archive, const Optimizer& optimizer) { optimizer.save(archive); }
inline void serialize(serialize::InputArchive& archive, Optimizer& optimizer) { optimizer.load(archive); }

template <class T> std::vector<T> deque_to_list(const std::deque<T>& values) { return {values.begin(), values.end()}; }
template <class T> std::deque<T> list_to_deque(const std::vector<T>& values) { return {values.begin(), values.end()}; }

}  // namespace cresset::optim
