#pragma once
#include <stdexcept>

namespace lockstep::output {

/// The disk is full or fails, exit 74: nothing of what was being written is kept, everything before it is.
class OutOfRoom : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace lockstep::output
