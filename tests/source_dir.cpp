#include "tests/source_dir.hpp"

namespace lockstep {

const char* const source_dir = LOCKSTEP_SOURCE_DIR;

}  // namespace lockstep
