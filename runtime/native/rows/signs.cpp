#include <algorithm>

#include "uses.h"

namespace fieldforge::rows {
namespace {

bool may_change(const Step& step, int32_t slot, const Uses& uses) {
    if (step.kind == Step::Kind::point) return false;
    if (uses.is_access(slot)) return step.kind == Step::Kind::store || uses.is_access(step.out.slot);
    return is_writer(step) && step.out.slot == slot;
}

void fold_sign(Code& code, size_t at, Place& operand, uint8_t bit, const Uses& uses) {
    if (uses.is_access(operand.slot) || uses.block_of(operand.slot) < 0) return;
    for (size_t i = at; i-- > 0;) {
        if (!is_writer(code[i]) || code[i].out.slot != operand.slot) continue;
        const Place source = code[i].a;
        const bool stays = shape_of(code[i]).op == "neg" && shape_of(code[i]).size == shape_of(code[at]).size &&
                           std::none_of(code.begin() + static_cast<int64_t>(i), code.begin() + static_cast<int64_t>(at),
                                        [&](const Step& step) { return may_change(step, source.slot, uses); });
        if (stays) operand = source, code[at].minus ^= bit;
        return;
    }
}

}  // namespace

void fold_signs(Code& code, const Uses& uses) {
    for (size_t at = 0; at < code.size(); ++at) {
        const Shape shape = shape_of(code[at]);
        if (shape.op != "fma" || shape.size == 0) continue;
        fold_sign(code, at, code[at].a, 1, uses);
        fold_sign(code, at, code[at].b, 1, uses);
        fold_sign(code, at, code[at].c, 2, uses);
    }
    for (size_t at = code.size(); at-- > 0;) {
        const int32_t out = code[at].out.slot;
        const bool is_sign = shape_of(code[at]).op == "neg" && uses.block_of(out) >= 0;
        if (is_sign && !uses.is_access(out) && !uses.is_needed(code, at, out)) code.erase(code.begin() + static_cast<int64_t>(at));
    }
}

}  // namespace fieldforge::rows
