#include "tools/output/elements/json_document.hpp"

namespace lockstep::output {

std::string version() { return LOCKSTEP_VERSION; }

}  // namespace lockstep::output
