// Whether elements of strided boxes share a byte, as a small bounded search.
//
// Exported libraries have this text, too (`workflows/export/support/source.py`): no Python, C++17.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fieldforge {

// A sum of terms q * stride with first <= q <= last; `low` and `high` bound the sum of this
// term and all after it.
struct Term {
    int64_t stride;
    int64_t first;
    int64_t last;
    int64_t low = 0;
    int64_t high = 0;
};

namespace strided {

inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && a < 0); }
inline int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

// Is there a sum of terms k, k + 1, ... in low..high? Large strides come first, so that few
// choices of q remain at each level; there are at most two terms for each axis.
inline bool reaches(const std::vector<Term>& terms, size_t k, int64_t low, int64_t high,
                    int& budget) {
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

}  // namespace strided

// Adds the steps from the lowest element along an axis to its others, or from those to it.
inline void add_steps(std::vector<Term>& terms, int64_t stride, int64_t last, bool is_negative) {
    if (stride < 0) stride = -stride;
    if (last == 0 || stride == 0) return;
    auto same = std::find_if(terms.begin(), terms.end(),
                             [&](const Term& term) { return term.stride == stride; });
    if (same == terms.end()) same = terms.insert(same, Term{stride, 0, 0});
    (is_negative ? same->first : same->last) += is_negative ? -last : last;
}

// Is a sum of terms in low..high? A question that is too hard is answered with yes.
inline bool is_sum_in(std::vector<Term>& terms, int64_t low, int64_t high) {
    std::sort(terms.begin(), terms.end(),
              [](const Term& x, const Term& y) { return x.stride > y.stride; });
    for (size_t k = terms.size(); k-- > 0;) {
        const bool is_last = k + 1 == terms.size();
        terms[k].low = (is_last ? 0 : terms[k + 1].low) + terms[k].first * terms[k].stride;
        terms[k].high = (is_last ? 0 : terms[k + 1].high) + terms[k].last * terms[k].stride;
    }
    int budget = 4096;
    return strided::reaches(terms, 0, low, high, budget);
}

// Whether two elements of `item` bytes of one array share a byte; the array has `last + 1` elements
// along the axis of each term, whose stride is not negative.
inline bool elements_meet(std::vector<Term> terms, int64_t item) {
    std::sort(terms.begin(), terms.end(),
              [](const Term& x, const Term& y) { return x.stride < y.stride; });
    int64_t reach = item;
    bool apart = true;  // each stride steps over all that the smaller ones reach
    for (Term& term : terms) {
        apart = apart && term.stride >= reach;
        reach += term.stride * term.last;
        term.first = -term.last;  // of the difference of two addresses
    }
    if (apart) return false;
    // The first axis along which two elements differ may be any; take the order as it is.
    for (size_t k = 0; k < terms.size(); ++k) {
        std::vector<Term> rest(terms.begin() + static_cast<std::ptrdiff_t>(k), terms.end());
        rest.front().first = 1;
        if (rest.front().stride == 0) return true;
        if (is_sum_in(rest, 1 - item, item - 1)) return true;
    }
    return false;
}

}  // namespace fieldforge
