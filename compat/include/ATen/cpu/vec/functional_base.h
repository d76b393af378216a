#pragma once
#include "ATen/cpu/vec/functional.h"
