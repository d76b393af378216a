#pragma once
// The data room: datasets, transforms, samplers, loaders.

#include "cresset/data/dataloader.h"
#include "cresset/data/datasets/cifar10.h"
#include "cresset/data/datasets/map.h"
#include "cresset/data/datasets/mnist.h"
#include "cresset/data/datasets/tensor.h"
#include "cresset/data/transforms.h"

namespace cresset::data {
// LibTorch has these names here too.
template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = ArrayRef<size_t>> using BatchDataset =
    datasets::BatchDataset<Self, Batch, BatchRequest>;
template <class Self, class SingleExample = Example<>> using Dataset = datasets::Dataset<Self, SingleExample>;
}  // namespace cresset::data
