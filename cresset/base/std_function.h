#pragma once
// std::function, std::hash and std::reference_wrapper. Users' programs are spared the searchers of <functional>, which bring the hash maps and
// the algorithms with them.

#if !defined(CRESSET_BUILDING_LIBRARY) && __has_include(<bits/std_function.h>)
#include <bits/std_function.h>
#include <string_view>
#else
#include <functional>
#endif
