// Chains as links: compiled functions that hand numbers on in registers.
#pragma once

#include "uses.h"

namespace fieldforge::rows {

// Gives a chain the links that do its steps. Those of far memory prefetch the rows of `asked`.
void link_steps(Chain& chain, const Nest& nest, const Uses& uses, const ChainTable& table, const Steps& steps,
                const std::vector<int32_t>& asked);

}  // namespace fieldforge::rows
