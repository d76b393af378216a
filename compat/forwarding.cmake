# LibTorch's finer headers: each is all of <torch/torch.h> here. Written into ${CMAKE_BINARY_DIR}/compat and installed from there.
function(compat_folder folder)
  foreach(name IN LISTS ARGN)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/compat/${folder}/${name}.h CONTENT "#pragma once\n#include \"torch/torch.h\"\n" @ONLY)
  endforeach()
endfunction()
compat_folder(torch/data/dataloader base stateful stateless)
compat_folder(torch/data/samplers base custom_batch_request random sequential stream)
compat_folder(torch/data/transforms base collate lambda stack tensor)
compat_folder(torch/data worker_exception)
compat_folder(torch/data/detail data_shuttle queue sequencers)
compat_folder(torch mps special xpu)
compat_folder(torch/nn/functional activation batchnorm conv distance dropout embedding fold instancenorm linear loss normalization
  padding pixelshuffle pooling upsampling vision)
compat_folder(torch/nn/modules activation batchnorm conv distance dropout embedding fold instancenorm linear loss normalization
  padding pixelshuffle pooling rnn transformer transformercoder transformerlayer upsampling)
compat_folder(torch/nn/modules/container any any_value functional moduledict modulelist named_any parameterdict parameterlist
  sequential)
compat_folder(torch/nn/options activation batchnorm conv distance dropout embedding fold instancenorm linear loss normalization
  padding pixelshuffle pooling rnn transformer transformercoder transformerlayer upsampling vision)
compat_folder(torch/nn/utils clip_grad convert_parameters)
compat_folder(torch/optim serialize)
compat_folder(torch/serialize input-archive output-archive)
compat_folder(torch nested)
compat_folder(torch/csrc/autograd FunctionsManual edge engine function_hook saved_variable)
compat_folder(torch/csrc/autograd/functions accumulate_grad basic_ops tensor utils)
compat_folder(torch/csrc/utils memory)
