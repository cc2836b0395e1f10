// The links of a multibody system as Python holds them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "python/arrays.hpp"
#include "multibody/links.hpp"

namespace stiction {

/// Links with copies of V_free and L, which the core only refers to.
class PythonLinks : public Links {
  public:
    using Links::Links;

    std::vector<double> V_free;
    Matrix L;

    /// Raise unless Algorithm 2 was begun with this system since the last touch: others do not fit the contacts.
    void check_begun() const {
        if (!has_begun()) throw nb::value_error("Call begin or solve first, after each touch.");
    }

    void take_system(const Input<double, -1>& twists, const Input<double, -1, -1>& mobility) {
        const std::size_t size = 6 * std::size_t(contacts().size());
        if (twists.shape(0) != size || mobility.shape(0) != size || mobility.shape(1) != size)
            throw nb::value_error("V_free must have six numbers for each touching link, L as many rows and columns.");
        V_free.assign(twists.data(), twists.data() + size);
        L.resize(static_cast<int>(size), static_cast<int>(size));
        if (size > 0) std::copy_n(mobility.data(), size * size, L[0]);
    }
};

/// Numbers (n,) of the links that touch.
inline auto touching(const Links& links) {
    const Contacts contacts = links.contacts();
    return values_of<std::int64_t>(contacts.size(), [&](int i) { return contacts[i].index; });
}

}  // namespace stiction
