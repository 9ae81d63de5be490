#include "fuse.h"

#include <algorithm>

#include "code/emitter.h"
#include "linking.h"

namespace fieldforge::rows {
namespace {

class Fuser {
   public:
    Fuser(Nest& nest, const KernelTable& table, std::vector<uint8_t>& written)
        : nest_(nest), table_(table), written_(written), uses_(nest) {}

    void run() {
        const auto lanes = [this](Code& code) {
            fold_signs(code, uses_);
            code = fused(code);
        };
        lanes(nest_.rows);
        lanes(nest_.first);
        for (Part& part : nest_.parts) lanes(part.code);
        drop_fills();
        const auto longest = std::max_element(drafts_.begin(), drafts_.end(), [](const Steps& one, const Steps& other) {
            return one.code.size() < other.code.size();
        });
        std::vector<int32_t> rows;
        for (const auto& [row, size] : nest_.asked) rows.push_back(row.slot);
        // the longest chain prefetches all rows, others none
        for (auto each = drafts_.begin(); each != drafts_.end(); ++each) {
            nest_.chains.push_back(chain_of(*each, each == longest ? rows : std::vector<int32_t>{}));
        }
    }

   private:
    // --- chains ---------------------------------------------------------------------------------

    Code fused(const Code& code) {
        Code made;
        for (size_t at = 0; at < code.size(); ++at) {
            const int size = size_in_chain(code[at]);
            if (size != draft_.size || size == 0) close(made, code, at);
            if (size != 0) {
                draft_.size = size;
                draft_.code.push_back(code[at]);
            } else {
                made.push_back(code[at]);
            }
        }
        close(made, code, code.size());
        return made;
    }

    // The bytes of the numbers of a step that a chain can do, else 0.
    int size_in_chain(const Step& step) const {
        if (step.kind == Step::Kind::load) {  // one that a condition for all lanes decides
            const bool fits = nest_.accesses[step.access].is_row && step.size >= 4 && !step.is_truth;
            return fits && step.b.slot >= 0 && uses_.operand(step.b).first ? step.size : 0;
        }
        const Shape shape = shape_of(step);
        const bool is_row_of_bytes = is_comparison(shape) && uses_.is_access(step.out.slot);
        return is_instruction(shape.op) && !is_row_of_bytes ? shape.size : 0;
    }

    // Ends the chain before a step, and begins an empty one.
    void close(Code& made, const Code& code, size_t before) {
        if (draft_.code.empty()) return;
        for (const Step& each : draft_.code) {
            const int32_t slot = each.out.slot;
            if (!uses_.is_access(slot) && uses_.is_needed(code, before - 1, slot)) draft_.kept.insert(slot);
        }
        Step step{};
        step.kind = Step::Kind::chain;
        step.access = static_cast<int32_t>(drafts_.size());
        made.push_back(step);
        drafts_.push_back(std::move(draft_));
        draft_ = {};
    }

    Chain chain_of(const Steps& draft, const std::vector<int32_t>& asked) {
        Chain chain;
        chain.size = draft.size;
        for (const Step& each : draft.code) {
            if (uses_.is_access(each.out.slot)) chain.row = each.out.slot;
        }
        if (!write(chain, draft, asked)) link_steps(chain, nest_, uses_, *table_.chains, draft, asked);
        return chain;
    }

    // --- machine code ---------------------------------------------------------------------------

    // Writes code for each reach that differs from the one before; false if the chain needs links.
    bool write(Chain& chain, const Steps& draft, const std::vector<int32_t>& asked) {
        if (table_.code == Vectors::Class::none) return false;
        const auto found = straight(nest_, uses_, draft);
        if (!found) return false;
        const bool streams = std::any_of(draft.code.begin(), draft.code.end(), [this](const Step& step) {
            return uses_.is_access(step.out.slot) && nest_.accesses[step.out.slot].streams;
        });
        const Traffic traffics[reach_count] = {{}, {asked, false}, {asked, streams}};
        for (int reach = 0; reach < reach_count; ++reach) {
            const bool is_other = reach == 0 || (reach == 1 ? !asked.empty() : streams);
            chain.written[reach] = is_other ? written_.size() : chain.written[reach - 1];
            if (!is_other) continue;
            const std::vector<uint8_t> code = machine_code(table_.code, *found, traffics[reach]);
            if (code.empty()) return false;
            written_.insert(written_.end(), code.begin(), code.end());
        }
        return true;
    }

    // --- copies of values ------------------------------------------------------------------------

    void drop_fills() {
        std::vector<bool> read(static_cast<size_t>(nest_.blocks));
        const auto note = [&](int32_t slot) {
            const int32_t block = slot < 0 ? -1 : uses_.block_of(slot);
            if (block >= 0) read[block] = true;
        };
        uses_.each_code([&](Code& code) {
            for (const Step& step : code) uses_.each_read(step, note);
        });
        for (const Steps& draft : drafts_) {
            for (const Step& step : draft.code) {
                for (const Place& place : {step.a, step.b, step.c}) {
                    if (place.slot >= 0) note(uses_.operand(place).second.slot);
                }
            }
        }
        uses_.each_code([&](Code& code) {
            std::erase_if(code, [&](const Step& step) {
                return step.kind == Step::Kind::fill && !read[uses_.block_of(step.out.slot)];
            });
        });
    }

    Nest& nest_;
    const KernelTable& table_;
    std::vector<uint8_t>& written_;
    Uses uses_;
    Steps draft_;
    std::vector<Steps> drafts_;
};

}  // namespace

void fuse(Nest& nest, const KernelTable& table, std::vector<uint8_t>& code) { Fuser(nest, table, code).run(); }

}  // namespace fieldforge::rows
