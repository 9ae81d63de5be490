// Reads an encoded program; every number in it is checked here and nowhere else.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "../plan_code.h"
#include "accesses.h"
#include "code/placing.h"
#include "fuse.h"

namespace nb = nanobind;

namespace fieldforge::rows {
namespace {

[[noreturn]] void refuse(const std::string& what) {
    throw std::invalid_argument("The encoded program is not well-formed: " + what + ".");
}

template <class Read>
auto many(nb::handle given, Read read) {
    std::vector<decltype(read(given))> made;
    for (nb::handle each : given) made.push_back(read(each));
    return made;
}

template <class Read>
auto many(nb::handle given, const char* name, Read read) {
    return many(nb::object(given.attr(name)), read);
}

Count read_count(nb::handle given) {
    return {nb::cast<int32_t>(nb::object(given[0])), nb::cast<int64_t>(nb::object(given[1]))};
}

Span read_span(nb::handle given) {
    return {read_count(nb::object(given[0])), read_count(nb::object(given[1]))};
}

int32_t read_number(nb::handle given) { return nb::cast<int32_t>(given); }

uint8_t size_of(const std::string& dtype) {
    if (dtype == "bool" || dtype == "int8" || dtype == "uint8") return 1;
    if (dtype == "int16" || dtype == "uint16") return 2;
    if (dtype == "int32" || dtype == "uint32" || dtype == "float32") return 4;
    if (dtype == "int64" || dtype == "uint64" || dtype == "float64") return 8;
    refuse("there is no dtype '" + dtype + "'");
}

Buffer read_buffer(nb::handle given) {
    Buffer made{};
    const auto memory = get<std::string>(given, "memory");
    made.kind = memory == "arena" ? Buffer::Kind::arena
                : memory == "tile" ? Buffer::Kind::tile
                                   : Buffer::Kind::given;
    made.place = get<int32_t>(given, "place");
    made.size = size_of(get<std::string>(given, "dtype"));
    made.strides = many(given, "strides", read_count);
    made.box = many(given, "box", read_span);
    made.order = many(given, "order", read_number);
    made.cuts = many(given, "cuts", read_number);
    made.ring = get<int32_t>(given, "ring");
    const size_t axes = std::max(made.strides.size(), made.box.size());
    if (axes > most_axes) refuse("a buffer has more than 8 axes");
    return made;
}

template <class T>
int64_t bits_of(T value) {
    int64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

int64_t constant_bits(const std::string& text, const std::string& dtype) {
    if (dtype == "bool") return text == "True" || text == "1";
    const double number = std::strtod(text.c_str(), nullptr);
    if (dtype == "float64") return bits_of(number);
    if (dtype == "float32") return bits_of(static_cast<float>(number));
    if (dtype == "uint64") return static_cast<int64_t>(std::strtoull(text.c_str(), nullptr, 10));
    return std::strtoll(text.c_str(), nullptr, 10);  // little-endian: the low bytes are the value
}

class NestReader {
   public:
    NestReader(nb::handle given, const std::vector<Buffer>& buffers, const KernelTable& table, std::vector<uint8_t>& code)
        : given_(given), buffers_(buffers), table_(table), code_(code) {}

    Nest read() {
        nest_.guard = many(given_, "guard", read_span);
        nest_.loops = many(given_, "loops", [](nb::handle each) {
            return Loop{read_span(nb::object(each.attr("range"))), get<bool>(each, "backward"),
                        get<bool>(each, "shared")};
        });
        nest_.lanes = get<int32_t>(given_, "lanes");
        nest_.blocks = get<int32_t>(given_, "blocks");
        nest_.values = get<int32_t>(given_, "values");
        const auto depth = static_cast<int32_t>(nest_.loops.size());
        if (nest_.lanes >= depth || nest_.values < depth || nest_.blocks < 0) refuse("a nest");
        nest_.accesses =
            many(given_, "accesses", [this](nb::handle each) { return read_access(each); });
        nest_.known = many(given_, "known", [this](nb::handle each) { return read_known(each); });
        nest_.around = many(given_, "around", [this](nb::handle each) { return read_code(each); });
        nest_.rows = read_code(nb::object(given_.attr("rows")));
        nest_.first = read_code(nb::object(given_.attr("first")));
        nest_.parts = many(given_, "parts", [this](nb::handle each) {
            return Part{read_span(nb::object(each.attr("range"))),
                        read_code(nb::object(each.attr("code")))};
        });
        nest_.has_inner = depth > 0 && nest_.lanes != depth - 1;
        nest_.outer = nest_.lanes >= 0 ? nest_.lanes : std::max(0, depth - 1);
        if (nest_.around.size() != static_cast<size_t>(nest_.outer) + 1) refuse("levels of a nest");
        if (nest_.outer == 0 && !nest_.rows.empty()) refuse("rows of a nest");
        while (nest_.shared < nest_.outer && nest_.loops[nest_.shared].is_shared) ++nest_.shared;
        constexpr int64_t room = 24 << 10, narrow = 64, wide = 512;
        const int64_t fits = room / (8 * std::max(nest_.blocks, 1)) / narrow * narrow;
        // Lanes that lie apart in memory: a few lines of each stay in the first cache.
        nest_.strip = nest_.lanes < 0 ? 1 : nest_.has_inner ? narrow : std::clamp(fits, narrow, wide);
        look_at_accesses(nest_, buffers_);
        nest_.table = table_.chains;
        fuse(nest_, table_, code_);
        return std::move(nest_);
    }

   private:
    Access read_access(nb::handle given) {
        Access made{};
        made.buffer = get<int32_t>(given, "buffer");
        if (made.buffer < 0 || static_cast<size_t>(made.buffer) >= buffers_.size()) refuse("a buffer");
        made.is_row = get<bool>(given, "is_row");
        made.ahead = get<int32_t>(given, "ahead");
        made.streams = get<bool>(given, "streams");
        for (nb::handle each : nb::object(given.attr("axes"))) {
            const auto kind = nb::cast<std::string>(nb::object(each[0]));
            Axis axis{Axis::Kind::fixed, nb::cast<int32_t>(nb::object(each[1])),
                      nb::cast<int64_t>(nb::object(each[2]))};
            const auto number = static_cast<int32_t>(made.axes.size());
            if (kind == "value") {
                axis.kind = Axis::Kind::value;
                check(axis.number, nest_.values, "value");
            } else if (kind == "lane") {
                axis.kind = Axis::Kind::lane;
                made.lane = number;
            } else if (kind == "block") {
                axis.kind = Axis::Kind::block;
                check(axis.number, nest_.blocks, "block");
                made.told.push_back(number);
            } else if (kind == "row") {
                axis.kind = Axis::Kind::row;
                check(axis.number, nest_.blocks, "block");
            }
            made.axes.push_back(axis);
        }
        const Buffer& buffer = buffers_[made.buffer];
        if (made.axes.size() != std::max(buffer.strides.size(), buffer.box.size())) refuse("axes");
        return made;
    }

    Known read_known(nb::handle given) {
        const auto kind = get<std::string>(given, "kind"), dtype = get<std::string>(given, "dtype");
        Known made{};
        made.value = check(get<int32_t>(given, "value"), nest_.values, "value");
        made.size = size_of(dtype);
        if (kind == "constant") {
            made.kind = Known::Kind::constant;
            made.bits = constant_bits(get<std::string>(given, "text"), dtype);
        } else if (kind == "scalar") {
            made.kind = dtype == "bool" ? Known::Kind::truth : Known::Kind::scalar;
            made.bits = get<int32_t>(given, "place");
        } else {
            made.kind = Known::Kind::number;
            made.number = read_count(nb::object(given.attr("count")));
        }
        return made;
    }

    Code read_code(nb::handle given) {
        Code code;
        for (nb::handle each : given) {
            const Step step = read_step(each);
            const bool is_point = step.kind == Step::Kind::point && !code.empty();
            Step* const last = is_point && code.back().kind == Step::Kind::point ? &code.back() : nullptr;
            if (last != nullptr && last->access + last->count == step.access && last->is_asked == step.is_asked) {
                ++last->count;
            } else {
                code.push_back(step);
            }
        }
        return code;
    }

    Step read_step(nb::handle given) {
        const auto name = get<std::string>(given, "name");
        const auto out = get<std::string>(given, "out");
        const auto args =
            many(given, "args", [](nb::handle each) { return nb::cast<std::string>(each); });
        const size_t dot = name.find('.');
        const std::string op = name.substr(0, dot), dtype = dot == std::string::npos ? "" : name.substr(dot + 1);
        const auto arg = [&](size_t number) {
            return number < args.size() ? place_of(args[number]) : Place{};
        };
        Step step{};
        step.kind = Step::Kind::kernel;
        step.out = place_of(out);
        if (op == "point") {
            step.kind = Step::Kind::point;
            step.access = access_of(out);
            step.is_asked = nest_.accesses[step.access].ahead != 0;
        } else if (op == "index") {
            step.kind = Step::Kind::index;
        } else if (op == "load" || op == "store") {
            const bool loads = op == "load";
            step.kind = loads ? Step::Kind::load : Step::Kind::store;
            step.size = size_of(dtype);
            step.is_truth = dtype == "bool";
            if (args.empty()) refuse("an access is missing");
            step.access = access_of(loads ? args[0] : out);
            step.a = arg(0), step.b = arg(1);
        } else if (op == "fill") {
            if (args.empty()) refuse("a value is missing");
            step.kind = Step::Kind::fill;
            step.size = size_of(dtype);
            step.a = arg(0);
            if (args[0][0] == 'r') step.a.step = step.size;
        } else {
            const NamedKernel* const kernel = table_.find(name);
            if (kernel == nullptr) refuse("there is no instruction '" + name + "'");
            step.run = kernel->run;
            step.name = kernel->name;
            step.a = arg(0), step.b = arg(1), step.c = arg(2);
        }
        return step;
    }

    int32_t access_of(const std::string& text) const {
        if (text.empty() || text[0] != 'a') refuse("'" + text + "' is no access");
        return check(std::atoi(text.c_str() + 1), static_cast<int32_t>(nest_.accesses.size()), "access");
    }

    Place place_of(const std::string& text) const {
        if (text.empty()) refuse("a place is missing");
        const auto accesses = static_cast<int32_t>(nest_.accesses.size());
        const int32_t number = std::atoi(text.c_str() + 1);
        switch (text[0]) {
            case 'a': {
                const Access& access = nest_.accesses[access_of(text)];
                const auto size = static_cast<int32_t>(buffers_[access.buffer].size);
                return {number, access.is_row ? size : 0};
            }
            case 'r':
            case 't': return {accesses + check(number, nest_.blocks, "block"), 0};
            case 'v': return {accesses + nest_.blocks + check(number, nest_.values, "value"), 0};
            default: refuse("'" + text + "' is no place");
        }
    }

    static int32_t check(int32_t number, int32_t count, const char* what) {
        if (number < 0 || number >= count) refuse(std::string("there is no ") + what + " " + std::to_string(number));
        return number;
    }

    nb::handle given_;
    const std::vector<Buffer>& buffers_;
    const KernelTable& table_;
    std::vector<uint8_t>& code_;
    Nest nest_{};
};

Tiles read_tiles(nb::handle given, const std::vector<Buffer>& buffers, const KernelTable& table, std::vector<uint8_t>& code) {
    Tiles made{};
    made.guard = many(given, "guard", read_span);
    made.box = many(given, "box", read_span);
    made.cuts = many(given, "cuts", [](nb::handle each) {
        return Cut{read_span(nb::object(each.attr("range"))), get<int64_t>(each, "size"),
                   get<bool>(each, "even")};
    });
    if (made.cuts.empty() || made.cuts.size() > most_cuts) refuse("the cuts of tiles");
    made.rolled = get<int32_t>(given, "rolled");
    made.threads = get<int64_t>(given, "threads");
    for (nb::handle each : nb::object(given.attr("members"))) {
        Member member{NestReader(nb::object(each.attr("nest")), buffers, table, code).read(),
                      many(each, "cuts", read_number), {}};
        for (nb::handle margin : nb::object(each.attr("margins"))) {
            member.margins.emplace_back(nb::cast<int64_t>(nb::object(margin[0])),
                                        nb::cast<int64_t>(nb::object(margin[1])));
        }
        made.members.push_back(std::move(member));
    }
    return made;
}

}  // namespace

Program read_program(PyObject* encoded, const KernelTable& table) {
    const nb::handle given(encoded);
    Program made;
    std::vector<uint8_t> code;
    made.buffers = many(given, "buffers", read_buffer);
    made.slots = many(given, "slots", read_count);
    made.clamping = get<int32_t>(given, "clamping");
    made.stepped = get<int32_t>(given, "stepped");
    made.parallel_from = get<int64_t>(given, "parallel_from");
    const auto read_node = [&](nb::handle each) {
        Node node{get<int64_t>(each, "statement"), {}, {}};
        const nb::object body = each.attr("body");
        if (nb::hasattr(body, "members")) {
            node.tiles.push_back(read_tiles(body, made.buffers, table, code));
        } else {
            node.nest.push_back(NestReader(body, made.buffers, table, code).read());
        }
        return node;
    };
    made.nodes = many(given, "nodes", read_node);
    made.clamped = many(given, "clamped", read_node);
    place_code(made, code);
    return made;
}

}  // namespace fieldforge::rows
