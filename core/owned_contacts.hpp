// Contacts as Python holds them: their memory lives as long as anybody looks at it.
#pragma once

#include <memory>

#include "contact.hpp"

namespace stiction {

struct OwnedContacts : Contacts {
    explicit OwnedContacts(const Contacts& contacts)
        : Contacts(contacts), memory(contacts.memory().shared_from_this()) {}

    std::shared_ptr<ContactMemory> memory;
};

}  // namespace stiction
