#pragma once
// The nn room: modules, layers, functional forms, initialisers, helpers.

#include "cresset/nn/functional.h"
#include "cresset/nn/layers/rnn.h"
#include "cresset/nn/layers/transformer.h"
#include "cresset/nn/module/containers.h"
#include "cresset/nn/utils/init.h"
#include "cresset/nn/utils/utils.h"
