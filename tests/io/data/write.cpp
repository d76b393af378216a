#include <torch/torch.h>
#include <fstream>
struct NetImpl : torch::nn::Module { NetImpl(){ fc=register_module("fc",torch::nn::Linear(2,3)); bn=register_module("bn",torch::nn::BatchNorm1d(3)); seq=register_module("seq",torch::nn::Sequential(torch::nn::Linear(1,1),torch::nn::ReLU())); w=register_parameter("w",torch::arange(4.)); b=register_buffer("count",torch::tensor(7)); } torch::nn::Linear fc{nullptr}; torch::nn::BatchNorm1d bn{nullptr}; torch::nn::Sequential seq; torch::Tensor w,b; };
TORCH_MODULE(Net);
int main(){ torch::manual_seed(0);
 torch::save(torch::arange(6.).view({2,3}).t(),"tensor.pt");
 std::vector<torch::Tensor> v{torch::ones(2),torch::arange(3)}; torch::save(v,"vector.pt");
 Net net; torch::save(net,"module.pt");
 torch::optim::Adam opt(net->parameters(), torch::optim::AdamOptions(0.01).amsgrad(true));
 for(int i=0;i<2;i++){ opt.zero_grad(); auto l=net->fc(torch::ones({1,2})).sum()+net->w.sum(); l.backward(); opt.step(); }
 torch::save(opt,"adam.pt");
 torch::optim::SGD sgd(net->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9)); sgd.step(); torch::save(sgd,"sgd.pt");
 torch::serialize::OutputArchive a; a.write("x",torch::ones(1)); a.write("n",torch::IValue(3)); a.write("s",torch::IValue("text")); a.write("l",torch::IValue(std::vector<double>{1,2.5})); torch::serialize::OutputArchive in; in.write("y",torch::zeros(2)); a.write("in",in); a.save_to("archive.pt");
 c10::Dict<std::string,torch::Tensor> d; d.insert("a",torch::ones(2)); d.insert("b",torch::zeros(1));
 auto pk=torch::pickle_save(d); std::ofstream("pickle_dict.pt",std::ios::binary).write(pk.data(),pk.size());
 c10::List<int64_t> li; li.push_back(3); 
 auto pk2=torch::pickle_save(c10::ivalue::Tuple::create({c10::IValue(li),c10::IValue(1.5),c10::IValue("hi"),c10::IValue(torch::ones(2)),c10::IValue(std::vector<torch::Tensor>{torch::ones(1)}),c10::IValue(true),c10::IValue(), c10::IValue(c10::complex<double>(1,2)), c10::IValue(torch::Device("cpu"))})); std::ofstream("pickle_tuple.pt",std::ios::binary).write(pk2.data(),pk2.size());
}
