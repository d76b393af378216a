#pragma once
// The nn room: modules, layers, functional forms, initialisers, helpers.

#include "cresset/nn/containers.h"
#include "cresset/nn/functional.h"
#include "cresset/nn/init.h"
#include "cresset/nn/rnn.h"
#include "cresset/nn/transformer.h"
#include "cresset/nn/utils.h"
