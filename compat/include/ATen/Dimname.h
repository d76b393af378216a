#pragma once
#include "ATen/core/Dimname.h"
