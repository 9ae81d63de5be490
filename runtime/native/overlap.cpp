// The question "do two strided boxes share a byte" as a small bounded search.
#include "overlap.h"

#include <algorithm>
#include <vector>

namespace fieldforge {
namespace {

// A sum of terms q * stride with first <= q <= last; `low` and `high` bound the sum of this
// term and all after it.
struct Term {
    int64_t stride;
    int64_t first;
    int64_t last;
    int64_t low = 0;
    int64_t high = 0;
};

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && a < 0); }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

void add_terms(std::vector<Term>& terms, const FieldView& view, bool negative) {
    for (int i = 0; i < view.ndim; ++i) {
        const Axis& axis = view.axes[i];
        const int64_t last = axis.stop - axis.start - 1;
        const int64_t stride = axis.stride < 0 ? -axis.stride : axis.stride;
        if (last == 0 || stride == 0) continue;
        auto same = std::find_if(terms.begin(), terms.end(),
                                 [&](const Term& term) { return term.stride == stride; });
        if (same == terms.end()) same = terms.insert(same, Term{stride, 0, 0});
        (negative ? same->first : same->last) += negative ? -last : last;
    }
}

// Is there a sum of terms k, k + 1, ... in low..high? Large strides come first, so that few
// choices of q remain at each level; there are at most two terms for each axis.
bool reaches(const std::vector<Term>& terms, size_t k, int64_t low, int64_t high, int& budget) {
    if (k == terms.size()) return low <= 0 && 0 <= high;
    const Term& term = terms[k];
    if (low > term.high || high < term.low) return false;
    const int64_t rest_low = k + 1 < terms.size() ? terms[k + 1].low : 0;
    const int64_t rest_high = k + 1 < terms.size() ? terms[k + 1].high : 0;
    const int64_t first = std::max(term.first, ceil_div(low - rest_high, term.stride));
    const int64_t last = std::min(term.last, floor_div(high - rest_low, term.stride));
    for (int64_t q = first; q <= last; ++q) {
        if (--budget < 0) return true;
        if (reaches(terms, k + 1, low - q * term.stride, high - q * term.stride, budget)) return true;
    }
    return false;
}

}  // namespace

bool share_memory(const FieldView& a, const FieldView& b) {
    if (!hulls_meet(a, b)) return false;
    std::vector<Term> terms;  // of (address of an element of a) - (address of one of b)
    add_terms(terms, a, false);
    add_terms(terms, b, true);
    std::sort(terms.begin(), terms.end(),
              [](const Term& x, const Term& y) { return x.stride > y.stride; });
    for (size_t k = terms.size(); k-- > 0;) {
        const bool last = k + 1 == terms.size();
        terms[k].low = (last ? 0 : terms[k + 1].low) + terms[k].first * terms[k].stride;
        terms[k].high = (last ? 0 : terms[k + 1].high) + terms[k].last * terms[k].stride;
    }
    // Two elements meet if their addresses differ by less than the item size.
    const auto between = static_cast<int64_t>(a.low - b.low);
    const int64_t item_a = int64_t{1} << a.shift, item_b = int64_t{1} << b.shift;
    int budget = 4096;
    return reaches(terms, 0, 1 - item_a - between, item_b - 1 - between, budget);
}

bool is_same_view(const FieldView& a, const FieldView& b) {
    if (a.origin != b.origin || a.dtype != b.dtype || a.ndim != b.ndim) return false;
    for (int i = 0; i < a.ndim; ++i) {
        if (a.axes[i].stride != b.axes[i].stride || a.axes[i].dim != b.axes[i].dim) return false;
    }
    return true;
}

}  // namespace fieldforge
