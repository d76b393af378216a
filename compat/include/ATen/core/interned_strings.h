#pragma once
#include "ATen/core/symbol.h"
