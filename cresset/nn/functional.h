#pragma once
// All of nn::functional: each function stands beside the layer that it computes.

#include "cresset/nn/activation.h"
#include "cresset/nn/conv.h"
#include "cresset/nn/distance.h"
#include "cresset/nn/dropout.h"
#include "cresset/nn/embedding.h"
#include "cresset/nn/linear.h"
#include "cresset/nn/loss.h"
#include "cresset/nn/normalization.h"
#include "cresset/nn/pooling.h"
#include "cresset/nn/vision.h"
