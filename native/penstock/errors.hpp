// What can go wrong in the native core. The bindings turn each into its Python twin in penstock.errors.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace penstock {

// Shared memory holds something that no correct peer writes.
struct RingCorrupt : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The operating system refused the memory, or the descriptor handed over is not a ring.
struct RingMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Its consumer has closed it, or we have let go of it.
struct RingClosed : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct MessageTooLarge : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace penstock
