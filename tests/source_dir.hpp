#pragma once

namespace lockstep {

/// Root of the source tree, for data of tests.
extern const char* const source_dir;

}  // namespace lockstep
