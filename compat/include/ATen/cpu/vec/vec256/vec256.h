#pragma once
#include "ATen/cpu/vec/vec.h"
