#pragma once
// All of nn::functional: each function stands beside the layer that it computes.

#include "cresset/nn/layers/activation.h"
#include "cresset/nn/layers/conv.h"
#include "cresset/nn/layers/distance.h"
#include "cresset/nn/layers/dropout.h"
#include "cresset/nn/layers/embedding.h"
#include "cresset/nn/layers/linear.h"
#include "cresset/nn/layers/loss.h"
#include "cresset/nn/layers/normalization.h"
#include "cresset/nn/layers/pooling.h"
#include "cresset/nn/layers/vision.h"
