// Bodies and contacts as Python holds them. The memory of contacts is released with its last view.
#pragma once

#include <memory>
#include <stdexcept>

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

}  // namespace stiction
