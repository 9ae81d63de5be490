#include "fuse.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace fieldforge::rows {
namespace {

bool reads(const Step& step, int32_t slot) {
    return step.a.slot == slot || step.b.slot == slot || step.c.slot == slot;
}

bool is_writer(const Step& step) {
    return step.kind != Step::Kind::point && step.kind != Step::Kind::store;
}

// What a kernel is as a link: its operation and the size of its floats.
struct Shape {
    std::string_view op;
    uint8_t size = 0;  // 0: no links compute it
};

Shape shape_of(const Step& step) {
    if (step.kind != Step::Kind::kernel) return {};
    const std::string_view name = step.name;
    const size_t dot = name.find('.');
    const std::string_view op = name.substr(0, dot), dtype = name.substr(dot + 1);
    if (op == "select" || op == "copy") {
        return {op, static_cast<uint8_t>(dtype == "4" ? 4 : dtype == "8" ? 8 : 0)};
    }
    return {op, static_cast<uint8_t>(dtype == "float32" ? 4 : dtype == "float64" ? 8 : 0)};
}

class Fuser {
   public:
    Fuser(Nest& nest, const ChainTable& table) : nest_(nest), table_(table) {
        const auto blocks = static_cast<size_t>(nest.blocks);
        exposed_.resize(blocks), copies_.resize(blocks), writes_.resize(blocks);
        each_code([this](Code& code) { look_at(code); });
        look_at_rows();
    }

    void run() {
        const auto lanes = [this](Code& code) { code = fused(code); };
        lanes(nest_.rows);
        lanes(nest_.first);
        for (Part& part : nest_.parts) lanes(part.code);
        drop_fills();
        for (Chain& chain : nest_.chains) ask(chain);
    }

   private:
    template <class Body>
    void each_code(const Body& body) {
        for (Code& code : nest_.around) body(code);
        body(nest_.rows);
        body(nest_.first);
        for (Part& part : nest_.parts) body(part.code);
    }

    // The number of a block by its slot, negative for other places.
    int32_t block_of(int32_t slot) const {
        const auto accesses = static_cast<int32_t>(nest_.accesses.size());
        return slot < accesses + nest_.blocks ? slot - accesses : -1;
    }
    bool is_access(int32_t slot) const {
        return slot >= 0 && slot < static_cast<int32_t>(nest_.accesses.size());
    }

    void look_at(const Code& code) {
        std::vector<bool> written(exposed_.size());
        const auto read = [&](int32_t slot) {
            const int32_t block = slot < 0 ? -1 : block_of(slot);
            if (block >= 0 && !written[block]) exposed_[block] = true;
        };
        for (const Step& step : code) {
            each_read(step, read);
            const int32_t block = is_writer(step) && step.out.slot >= 0 ? block_of(step.out.slot) : -1;
            if (block < 0) continue;
            written[block] = true;
            ++writes_[block];
            if (step.kind == Step::Kind::fill) copies_[block] = {step.a.slot, step.a.step};
        }
    }

    template <class Body>
    void each_read(const Step& step, const Body& body) const {
        for (const Place& each : {step.a, step.b, step.c}) body(each.slot);
        if (step.kind != Step::Kind::load && step.kind != Step::Kind::store) return;
        const Access& access = nest_.accesses[step.access];
        const auto accesses = static_cast<int32_t>(nest_.accesses.size());
        for (int32_t axis : access.told) body(accesses + access.axes[axis].number);
    }
    // Blocks of which single numbers are read: they must be in memory.
    void look_at_rows() {
        const auto accesses = static_cast<int32_t>(nest_.accesses.size());
        const auto note = [&](int32_t block) { exposed_[block] = true; };
        for (const Access& access : nest_.accesses) {
            for (const Axis& axis : access.axes) {
                if (axis.kind == Axis::Kind::row) note(axis.number);
            }
        }
        each_code([&](const Code& code) {
            for (const Step& step : code) {
                if (step.a.step > 0) note(step.a.slot - accesses);
            }
        });
    }

    // Whether a block keeps its value after step `at` of a code, for a later reader.
    bool is_needed(const Code& code, size_t at, int32_t slot) const {
        for (size_t i = at + 1; i < code.size(); ++i) {
            bool is_read = false;
            each_read(code[i], [&](int32_t each) { is_read |= each == slot; });
            if (is_read) return true;
            if (is_writer(code[i]) && code[i].out.slot == slot) return false;
        }
        return exposed_[block_of(slot)];
    }

    // --- chains ---------------------------------------------------------------------------------

    Code fused(const Code& code) {
        Code made;
        for (at_ = 0; at_ < code.size(); ++at_) {
            const Step& step = code[at_];
            if (!add(code, step)) {
                close(made, code);
                made.push_back(step);
            }
        }
        close(made, code);
        return made;
    }

    // The source of an operand, and where it lies; a block of copies is one number.
    std::pair<Source, Operand> operand(const Place& place) const {
        if (is_access(place.slot)) return {Source::row, {place.slot, 0}};
        const int32_t block = block_of(place.slot);
        if (block < 0) return {Source::one, {place.slot, place.scale}};
        const bool is_copy = writes_[block] == 1 && copies_[block].slot > 0;
        if (is_copy) return {Source::one, copies_[block]};
        return {Source::block, {place.slot, 0}};
    }

    bool link(std::string_view op, uint8_t size, uint8_t at, const Place& x, const Place& y = {}) {
        auto [from, first] = x.slot < 0 ? std::pair{Source::row, Operand{}} : operand(x);
        auto [also, second] = y.slot < 0 ? std::pair{Source::row, Operand{}} : operand(y);
        const bool is_comparison = x.slot >= 0 && y.slot >= 0 && op != "fma" && op != "select";
        const LinkName wanted{op.data(), size, at, from, is_comparison ? Source::row : also};
        const NamedLink* const found = find(op, wanted);
        if (found == nullptr) return false;
        for (int form = 0; form < form_count; ++form) {
            chain_.forms[form].push_back({found->run[form], first, second});
        }
        return true;
    }

    const NamedLink* find(std::string_view op, LinkName wanted) const {
        for (size_t i = 0; i < table_.count; ++i) {
            const LinkName& name = table_.links[i].name;
            if (op == name.op && name.size == wanted.size && name.at == wanted.at &&
                name.x == wanted.x && name.y == wanted.y) {
                return &table_.links[i];
            }
        }
        return nullptr;
    }

    void keep(const Code& code, size_t after) {
        if (held_ >= 0 && is_dirty_ && is_needed(code, after, held_)) put();
    }
    void put() {
        link("store", held_size_, 0, {held_, 0});
        is_dirty_ = false;
    }

    // Brings an operand to the registers.
    void take(const Code& code, const Place& place, uint8_t size) {
        if (place.slot == held_) return;
        keep(code, at_ - 1);  // the step may read what is in registers as its other operand
        link("load", size, 0, place);
        held_ = block_of(place.slot) >= 0 ? place.slot : -1;
        held_size_ = size;
        is_dirty_ = false;
    }

    // Adds a step to the chain; false if there are no links for it.
    bool add(const Code& code, const Step& step) {
        const Shape shape = shape_of(step);
        if (shape.size == 0) return false;
        std::array<Place, 3> args{step.a, step.b, step.c};
        const bool is_select = shape.op == "select";
        const Place condition = is_select ? args[0] : Place{};
        if (is_select) args = {args[1], args[2], Place{}};
        const int count = 1 + (args[1].slot >= 0) + (args[2].slot >= 0);
        if (!exists(shape, count, is_select)) return false;
        if (is_comparison(shape) && is_access(step.out.slot)) return false;  // bytes of a row
        int at = -1, uses = 0;
        for (int i = 0; i < count; ++i) {
            if (held_ >= 0 && args[i].slot == held_ && operand(args[i]).first == Source::block) at = i, ++uses;
        }
        if (at < 0) {
            take(code, args[0], shape.size);
            at = 0;
            uses = 1;
            for (int i = 1; i < count; ++i) uses += args[i].slot == args[0].slot && block_of(args[0].slot) >= 0;
        } else if (is_dirty_ && (uses > 1 || is_needed(code, at_, held_))) {
            put();
        }
        return compute(shape, step, args, count, at, condition);
    }

    static bool is_comparison(const Shape& shape) { return shape.op.size() == 2; }

    bool exists(const Shape& shape, int count, bool is_select) const {
        if (shape.op == "copy") return true;
        const Source x = count == 1 ? Source::row : is_select ? Source::block : Source::row;
        return find(shape.op, {nullptr, shape.size, uint8_t(is_select ? 1 : 0), x, Source::row}) != nullptr;
    }

    bool compute(const Shape& shape, const Step& step, const std::array<Place, 3>& args, int count,
                 int at, const Place& condition) {
        const uint8_t size = shape.size;
        if (shape.op == "copy") {
            if (is_access(step.out.slot) || block_of(step.out.slot) >= 0) link("store", size, 0, step.out);
            return true;
        }
        if (condition.slot >= 0) {
            link(shape.op, size, uint8_t(at + 1), condition, args[1 - at]);
        } else if (is_comparison(shape)) {
            link(shape.op, size, uint8_t(at), args[1 - at], step.out);
            return true;  // the registers are as before
        } else if (count == 3) {
            const Place& x = at == 0 ? args[1] : args[0];
            link(shape.op, size, at == 2 ? 2 : 0, x, at == 2 ? args[1] : args[2]);
        } else if (count == 2) {
            link(shape.op, size, uint8_t(at), args[1 - at]);
        } else {
            link(shape.op, size, 0, {});
        }
        held_size_ = size;
        if (is_access(step.out.slot)) {
            link("store", size, 0, step.out);
            held_ = -1, is_dirty_ = false;
        } else {
            held_ = step.out.slot, is_dirty_ = true;
        }
        return true;
    }

    // Ends the chain, and begins an empty one.
    void close(Code& made, const Code& code) {
        if (chain_.forms[0].empty()) return;
        keep(code, at_ - 1);
        held_ = -1, is_dirty_ = false;
        link("end", 0, 0, {});
        Step step{};
        step.kind = Step::Kind::chain;
        step.access = static_cast<int32_t>(nest_.chains.size());
        nest_.chains.push_back(std::move(chain_));
        chain_ = {};
        made.push_back(step);
    }

    // --- prefetches -----------------------------------------------------------------------------

    // Spreads the prefetches of all rows over the links of the longest chain; other chains have none.
    void ask(Chain& chain) {
        const auto longest = std::max_element(
            nest_.chains.begin(), nest_.chains.end(), [](const Chain& one, const Chain& other) {
                return one.forms[0].size() < other.forms[0].size();
            });
        const size_t links = chain.forms[0].size(), rows = &chain == &*longest ? nest_.asked.size() : 0;
        for (int form = 0; form < form_count; ++form) {
            size_t done = 0;
            for (size_t i = 0; i < links; ++i) {
                for (; done < rows && done * links <= i * rows; ++done) {
                    const auto& [row, size] = nest_.asked[done];
                    const uint8_t wide = size == 8 ? 8 : 4;
                    const NamedLink* const found = find("ask", {nullptr, wide, 0, Source::row, Source::row});
                    chain.asking[form].push_back({found->run[form], row, {}});
                }
                chain.asking[form].push_back(chain.forms[form][i]);
            }
        }
    }

    // --- copies of values ------------------------------------------------------------------------

    void drop_fills() {
        std::vector<bool> read(exposed_.size());
        each_code([&](Code& code) {
            for (const Step& step : code) {
                each_read(step, [&](int32_t slot) {
                    const int32_t block = slot < 0 ? -1 : block_of(slot);
                    if (block >= 0) read[block] = true;
                });
            }
        });
        for (const Chain& chain : nest_.chains) {
            for (const Link& each : chain.forms[0]) {
                for (const Operand& operand : {each.x, each.y}) {
                    const int32_t block = block_of(operand.slot);
                    if (block >= 0) read[block] = true;
                }
            }
        }
        each_code([&](Code& code) {
            std::erase_if(code, [&](const Step& step) {
                return step.kind == Step::Kind::fill && !read[block_of(step.out.slot)];
            });
        });
    }

    Nest& nest_;
    const ChainTable& table_;
    std::vector<bool> exposed_;    // by block: some code reads it before it writes it
    std::vector<Operand> copies_;  // by block: the number that it is filled with
    std::vector<int32_t> writes_;  // by block: how many steps write it
    Chain chain_;
    size_t at_ = 0;
    int32_t held_ = -1;       // the block whose numbers are in registers
    uint8_t held_size_ = 8;
    bool is_dirty_ = false;   // memory does not have them
};

}  // namespace

void fuse(Nest& nest, const ChainTable& table) { Fuser(nest, table).run(); }

}  // namespace fieldforge::rows
