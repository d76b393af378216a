# LibTorch's finer headers: each is all of <torch/torch.h> here. Written into ${CMAKE_BINARY_DIR}/compat and installed from there.
function(compat_folder folder)
  foreach(name IN LISTS ARGN)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/compat/${folder}/${name}.h CONTENT "#pragma once\n#include \"torch/torch.h\"\n" @ONLY)
  endforeach()
endfunction()
compat_folder(torch/data/dataloader base stateful stateless)
compat_folder(torch/data/samplers base custom_batch_request distributed random sequential serialize stream)
compat_folder(torch/data/transforms base collate lambda stack tensor)
compat_folder(torch/data worker_exception)
compat_folder(torch/data/datasets chunk)
compat_folder(torch/data/detail data_shuttle queue sequencers)
compat_folder(torch fft mps special xpu)
compat_folder(torch/nn/functional activation batchnorm conv distance dropout embedding fold instancenorm linear loss normalization
  padding pixelshuffle pooling upsampling vision)
compat_folder(torch/nn pimpl-inl)
compat_folder(torch/nn/modules _functions activation adaptive batchnorm common conv distance dropout embedding fold instancenorm linear loss normalization
  padding pixelshuffle pooling rnn transformer transformercoder transformerlayer upsampling utils)
compat_folder(torch/nn/modules/container any any_module_holder any_value functional moduledict modulelist named_any parameterdict parameterlist
  sequential)
compat_folder(torch/nn/options activation adaptive batchnorm conv distance dropout embedding fold instancenorm linear loss normalization
  padding pixelshuffle pooling rnn transformer transformercoder transformerlayer upsampling vision)
compat_folder(torch/nn/utils clip_grad convert_parameters rnn)
compat_folder(torch/optim serialize)
compat_folder(torch/serialize archive input-archive output-archive tensor)
compat_folder(torch nested)
compat_folder(torch/csrc/autograd FunctionsManual InferenceMode anomaly_mode edge engine function_hook node saved_variable)
compat_folder(torch/csrc/autograd/generated variable_factories)
compat_folder(torch/csrc/autograd/functions accumulate_grad basic_ops tensor utils)
compat_folder(torch/csrc/utils memory)

# Headers of TorchScript's, which <torch/script.h> has whole.
foreach(name api/compilation_unit api/method api/module serialization/export serialization/import)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/compat/torch/csrc/jit/${name}.h CONTENT "#pragma once\n#include \"torch/script.h\"\n" @ONLY)
endforeach()

# Names of tensors and below, which <ATen/ATen.h> has too.
function(compat_lower folder)
  foreach(name IN LISTS ARGN)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/compat/${folder}/${name}.h CONTENT "#pragma once\n#include \"ATen/ATen.h\"\n" @ONLY)
  endforeach()
endfunction()
compat_lower(ATen ArrayRef Backend DimVector Scalar ScalarType SmallVector Storage TensorAccessor)
compat_lower(ATen/core ATenGeneral ATen_fwd DimVector ScalarType TensorBody typeid)

# One header an op, as devices and kernels include them: ATen/ops/add.h, add_ops.h, add_native.h.
file(GLOB op_tables CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ops/*.toml)
set(op_names "")
foreach(table IN LISTS op_tables)
  file(STRINGS ${table} schemas REGEX "^schema = \"[a-z_A-Z0-9]+[.(]")
  list(TRANSFORM schemas REPLACE "^schema = \"([a-z_A-Z0-9]+)[.(].*" "\\1")
  list(APPEND op_names ${schemas})
endforeach()
list(TRANSFORM op_names REPLACE "_out$|_$" "")
list(REMOVE_DUPLICATES op_names)
foreach(name IN LISTS op_names)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/compat/ATen/ops/${name}.h CONTENT "#pragma once\n#include \"ATen/Functions.h\"\n" @ONLY)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/compat/ATen/ops/${name}_ops.h CONTENT "#pragma once\n#include \"ATen/Operators.h\"\n" @ONLY)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/compat/ATen/ops/${name}_native.h CONTENT "#pragma once\n#include \"ATen/NativeFunctions.h\"\n" @ONLY)
endforeach()

# Operators with numbers that may be symbols in LibTorch. Rows are among what a configuration depends on.
execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/symint_functions.py ${CMAKE_BINARY_DIR}/compat/torch/detail/symint.h RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "tools/symint_functions.py failed; the lines above say why")
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/symint_functions.py)
