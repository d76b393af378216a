#pragma once
#include "ATen/native/DistributionTemplates.h"
