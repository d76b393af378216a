#pragma once
// torch::nn, torch::optim, torch::data, torch::autograd and what belongs to them.

#include "cresset/autograd/anomaly_mode.h"
#include "cresset/autograd/function_parts.h"
#include "cresset/cresset.h"
#include "cresset/data/datasets/chunk.h"
#include "cresset/data/datasets/shared.h"
#include "cresset/data/datasets/stateful.h"
#include "cresset/data/shuttle.h"
#include "cresset/io/value.h"
#include "cresset/nn/all.h"
#include "cresset/nn/functional_detail.h"
#include "cresset/optim/all.h"
#include "cresset/transform/autocast.h"
#include "cresset/transform/checkpoint.h"
#include "torch/detail/tensor.h"

namespace torch {

using cresset::autocast;
using cresset::load;
using cresset::pickle_load;
using cresset::pickle_save;
using cresset::save;
namespace utils {
using namespace cresset::utils;
}
namespace amp {
using namespace cresset::amp;
using cresset::autocast;
}  // namespace amp

namespace autograd {
using namespace cresset::autograd;
using tensor_list = variable_list;
}  // namespace autograd
namespace nn {
using namespace cresset::nn;
}
namespace optim {
using namespace cresset::optim;
}
namespace serialize {
using namespace cresset::serialize;
}
namespace data {
using cresset::data::BatchDataset;
using cresset::data::DataLoaderBase;
using cresset::data::DataLoaderOptions;
using cresset::data::Dataset;
using cresset::data::Example;
using cresset::data::FullDataLoaderOptions;
using cresset::data::get_worker_info;
using cresset::data::Iterator;
using cresset::data::make_data_loader;
using cresset::data::StatefulDataLoader;
using cresset::data::StatelessDataLoader;
using cresset::data::TensorExample;
using cresset::data::WorkerException;
using cresset::data::WorkerInfo;
namespace detail {
using cresset::data::detail::DataShuttle;
using cresset::data::detail::Queue;
namespace sequencers = cresset::data::detail::sequencers;
}  // namespace detail
namespace datasets {
using namespace cresset::data::datasets;
}
namespace example {
using namespace cresset::data::example;
}
namespace samplers {
using namespace cresset::data::samplers;
}
namespace transforms {
using namespace cresset::data::transforms;
}
}  // namespace data

}  // namespace torch

#define TORCH_ARG(T, name) CRESSET_ARG(T, name)
#define TORCH_MODULE(Name) CRESSET_MODULE(Name)
#define TORCH_MODULE_IMPL(Name, ImplType) CRESSET_MODULE_IMPL(Name, ImplType)
#define FORWARD_HAS_DEFAULT_ARGS(...) CRESSET_FORWARD_HAS_DEFAULT_ARGS(__VA_ARGS__)
