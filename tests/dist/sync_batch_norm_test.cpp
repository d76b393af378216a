// Several ranks with a part of the batch each do what one does with all of it.

#include "cresset/dist/sync_batch_norm.h"

#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "cresset/cresset.h"
#include "error_of.h"

namespace {

using namespace cresset;
using distributed::ProcessGroup;

void on_ranks(int size, const std::function<void(const intrusive_ptr<ProcessGroup>&)>& f) {
  const intrusive_ptr<distributed::Store> store = make_intrusive<distributed::HashStore>();
  std::vector<std::string> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; rank++)
    threads.emplace_back(
        [&, rank] { errors[static_cast<size_t>(rank)] = error_of([&] { f(make_intrusive<distributed::ProcessGroupGloo>(store, rank, size)); }); });
  for (std::thread& t : threads) t.join();
  for (const std::string& error : errors) EXPECT_EQ(error, "no error");
}

TEST(SyncBatchNorm, RanksTogetherAreOneBatch) {
  manual_seed(0);
  const Tensor x = randn({6, 3, 2, 2}), direction = randn({6, 3, 2, 2});
  nn::BatchNorm2d whole(nn::BatchNorm2dOptions(3).momentum(0.3));
  const Tensor all = x.clone().requires_grad_(), expected = whole(all);
  (expected * direction).sum().backward();
  // The parts are of different sizes.
  const std::vector<int64_t> first = {0, 1, 3, 6};
  on_ranks(3, [&](const intrusive_ptr<ProcessGroup>& group) {
    const auto part = [&](const Tensor& t) {
      const auto rank = static_cast<size_t>(group->getRank());
      return t.detach().slice(0, first[rank], first[rank + 1]).clone();
    };
    const auto near = [](const Tensor& a, const Tensor& b) { return allclose(a, b, 1e-4, 1e-5); };
    nn::SyncBatchNorm norm(nn::BatchNormOptions(3).momentum(0.3), group);
    const Tensor own = part(x).requires_grad_(), out = norm(own);
    EXPECT_TRUE(near(out, part(expected)));
    (out * part(direction)).sum().backward();
    EXPECT_TRUE(near(own.grad(), part(all.grad()))) << own.grad() << part(all.grad());
    Tensor of_weight = norm->weight.grad().clone();
    nn::detail::sum_now(group, of_weight);
    EXPECT_TRUE(near(of_weight, whole->weight.grad()));
    EXPECT_TRUE(near(norm->running_mean, whole->running_mean) && near(norm->running_var, whole->running_var));
    EXPECT_EQ(norm->num_batches_tracked.item<int64_t>(), 1);
    norm->eval();
    nn::BatchNorm2d alone(3);
    alone->eval();
    alone->running_mean.copy_(norm->running_mean);
    alone->running_var.copy_(norm->running_var);
    EXPECT_TRUE(equal(norm(own), alone(own)));
  });
}

TEST(SyncBatchNorm, AloneItIsABatchNorm) {
  const Tensor x = rand({5, 3, 2, 2});
  nn::BatchNorm2d plain(3);
  nn::SyncBatchNorm sync(3);
  EXPECT_TRUE(equal(plain(x), sync(x)));
  for (const auto& item : plain->named_buffers()) EXPECT_TRUE(equal(item.value(), sync->named_buffers()[item.key()])) << item.key();
  EXPECT_EQ(sync(rand({2, 3})).sizes(), IntArrayRef({2, 3}));
  EXPECT_THROW(sync(rand({3})), ValueError);
  EXPECT_TRUE(std::dynamic_pointer_cast<nn::SyncBatchNormImpl>(sync->clone()));
  std::ostringstream text;
  text << sync;
  EXPECT_EQ(text.str(), "torch::nn::SyncBatchNorm(3, eps=1e-05, momentum=0.1, affine=true, track_running_stats=true)");
}

struct NetImpl : nn::Module {
  NetImpl() { register_module("bn", bn); }
  Tensor forward(const Tensor& x) { return bn(x); }
  nn::BatchNorm1d bn{2};
};

TEST(SyncBatchNorm, Converting) {
  nn::BatchNorm1d before(nn::BatchNorm1dOptions(3).eps(0.1).momentum(std::nullopt));
  nn::ModuleList list;
  list->push_back(nn::BatchNorm3d(2));
  nn::Sequential inner(nn::Linear(3, 3), before, nn::BatchNorm2d(nn::BatchNorm2dOptions(4).affine(false)), nn::InstanceNorm1d(3)), model(inner);
  model->eval();
  const auto made = nn::SyncBatchNormImpl::convert_sync_batchnorm(model.ptr());
  EXPECT_EQ(made, model.ptr());
  const auto after = inner->ptr<nn::SyncBatchNormImpl>(1);
  EXPECT_EQ(inner->named_children()["1"], after);
  EXPECT_TRUE(after->weight.is_same(before->weight) && after->running_mean.is_same(before->running_mean));
  EXPECT_TRUE(after->named_parameters()["weight"].is_same(before->weight));
  EXPECT_TRUE(after->options.eps() == 0.1 && !after->options.momentum() && !after->is_training());
  EXPECT_FALSE(inner->ptr<nn::SyncBatchNormImpl>(2)->weight.defined());
  EXPECT_TRUE(inner[3]->as<nn::InstanceNorm1d>());
  nn::SyncBatchNormImpl::convert_sync_batchnorm(list.ptr());
  EXPECT_TRUE(list[0]->as<nn::SyncBatchNorm>() && list->named_children()["0"]->as<nn::SyncBatchNorm>());
  EXPECT_TRUE(nn::SyncBatchNormImpl::convert_sync_batchnorm(before.ptr())->as<nn::SyncBatchNorm>());
  nn::Sequential own(nn::BatchNorm1d(1), std::make_shared<NetImpl>());
  EXPECT_NE(error_of([&] { nn::SyncBatchNormImpl::convert_sync_batchnorm(own.ptr()); }).find("keeps the BatchNorm 'bn' in a member"), std::string::npos);
  EXPECT_FALSE(own[0]->as<nn::SyncBatchNorm>());
}

}  // namespace
