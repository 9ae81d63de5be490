#include "placing.h"

#include <new>

namespace fieldforge::rows {

void place_code(Program& program, const std::vector<uint8_t>& code) {
    if (code.empty()) return;
    program.code = Pages::with(code);
    if (program.code == nullptr) throw std::bad_alloc();
    const auto place = [&](Nest& nest) {
        for (Chain& chain : nest.chains) {
            for (int reach = 0; reach < reach_count; ++reach) {
                if (chain.links.empty()) chain.run[reach] = reinterpret_cast<Written>(program.code->data() + chain.written[reach]);
            }
        }
    };
    for (auto* nodes : {&program.nodes, &program.clamped}) {
        for (Node& node : *nodes) {
            for (Nest& nest : node.nest) place(nest);
            for (Tiles& tiles : node.tiles) {
                for (Member& member : tiles.members) place(member.nest);
            }
        }
    }
}

}  // namespace fieldforge::rows
