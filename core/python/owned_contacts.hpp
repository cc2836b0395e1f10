// Contacts as Python holds them: their memory lives as long as anybody looks at it.
#pragma once

#include <memory>
#include <stdexcept>

#include "contact/contact.hpp"

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

}  // namespace stiction
