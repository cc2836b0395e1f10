// Bodies, contacts and links of a multibody system as Python holds them. The memory of contacts is released with its last view.
#pragma once

#include <stdexcept>

#include "multibody/links.hpp"
#include "python/arrays.hpp"
#include "stepping/step.hpp"

namespace stiction {

struct OwnedContacts : Contacts {
    explicit OwnedContacts(const Contacts& contacts)
        : Contacts(contacts), memory(contacts.memory().shared_from_this()) {}

    /// Contact number i, if there is one.
    const Contact& at(int i) const {
        if (i < 0 || i >= size()) throw std::out_of_range("There is no contact of that number.");
        return (*this)[i];
    }

    std::shared_ptr<ContactMemory> memory;
};

/// States at the centres of mass: position (n, 3), quaternion (n, 4), twist (n, 6).
inline std::vector<BodyState> states_from(const Input<double, -1, 3>& position, const Input<double, -1, 4>& quaternion,
                                          const Input<double, -1, 6>& twist) {
    check_rows(position.shape(0), quaternion, twist);
    std::vector<BodyState> states(position.shape(0));
    for (std::size_t i = 0; i < states.size(); ++i)
        states[i] = {vector_from(position.data() + 3 * i), quaternion_from(quaternion.data() + 4 * i),
                     twist_from(twist.data() + 6 * i)};
    return states;
}

/// The inverse: position (n, 3), quaternion (n, 4), twist (n, 6).
inline nb::tuple as_tuple(const std::vector<BodyState>& states) {
    const auto of = [&](std::size_t width, auto part) {
        return rows_of(states.size(), width, [&](int i) { return states[i].*part; });
    };
    return nb::make_tuple(of(3, &BodyState::position), of(4, &BodyState::quaternion), of(6, &BodyState::twist));
}

/// Links with copies of V_free and L, which the core only refers to.
class PythonLinks : public Links {
  public:
    using Links::Links;

    std::vector<double> V_free;
    Matrix L;

    /// Raise unless Algorithm 2 was started with this system since the last touch: others do not fit the contacts.
    void check_started() const {
        if (!is_started()) throw nb::value_error("Call begin or solve first, after each touch.");
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
inline auto touching_links(const Links& links) {
    const Contacts contacts = links.contacts();
    return values_of<std::int64_t>(contacts.size(), [&](int i) { return contacts[i].index; });
}

}  // namespace stiction
