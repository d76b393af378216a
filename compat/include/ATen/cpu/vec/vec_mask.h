#pragma once
#include "ATen/cpu/vec/vec_base.h"
