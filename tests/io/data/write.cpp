// Writes the golden files libtorch_*.pt of this folder, with LibTorch 2.13, into the current one (their names there lack the prefix).
#include <torch/torch.h>

#include <fstream>

struct NetImpl : torch::nn::Module {
  NetImpl() {
    fc = register_module("fc", torch::nn::Linear(2, 3));
    bn = register_module("bn", torch::nn::BatchNorm1d(3));
    seq = register_module("seq", torch::nn::Sequential(torch::nn::Linear(1, 1), torch::nn::ReLU()));
    w = register_parameter("w", torch::arange(4.));
    b = register_buffer("count", torch::tensor(7));
  }
  torch::nn::Linear fc{nullptr};
  torch::nn::BatchNorm1d bn{nullptr};
  torch::nn::Sequential seq;
  torch::Tensor w, b;
};
TORCH_MODULE(Net);

static void write(const char* name, const std::vector<char>& bytes) {
  std::ofstream(name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

int main() {
  torch::manual_seed(0);
  torch::save(torch::arange(6.).view({2, 3}).t(), "tensor.pt");
  torch::save(std::vector<torch::Tensor>{torch::ones(2), torch::arange(3)}, "vector.pt");
  Net net;
  torch::save(net, "module.pt");
  torch::optim::Adam adam(net->parameters(), torch::optim::AdamOptions(0.01).amsgrad(true));
  for (int i = 0; i < 2; i++) {
    adam.zero_grad();
    (net->fc(torch::ones({1, 2})).sum() + net->w.sum()).backward();
    adam.step();
  }
  torch::save(adam, "adam.pt");
  torch::optim::SGD sgd(net->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
  sgd.step();
  torch::save(sgd, "sgd.pt");
  torch::serialize::OutputArchive archive, inner;
  archive.write("x", torch::ones(1));
  archive.write("n", torch::IValue(3));
  archive.write("s", torch::IValue("text"));
  archive.write("l", torch::IValue(std::vector<double>{1, 2.5}));
  inner.write("y", torch::zeros(2));
  archive.write("in", inner);
  archive.save_to("archive.pt");
  c10::Dict<std::string, torch::Tensor> dict;
  dict.insert("a", torch::ones(2));
  dict.insert("b", torch::zeros(1));
  write("pickle_dict.pt", torch::pickle_save(dict));
  c10::List<int64_t> list;
  list.push_back(3);
  write("pickle_tuple.pt",
        torch::pickle_save(c10::ivalue::Tuple::create({c10::IValue(list), c10::IValue(1.5), c10::IValue("hi"), c10::IValue(torch::ones(2)),
                                                       c10::IValue(std::vector<torch::Tensor>{torch::ones(1)}), c10::IValue(true), c10::IValue(),
                                                       c10::IValue(c10::complex<double>(1, 2)), c10::IValue(torch::Device("cpu"))})));
}
