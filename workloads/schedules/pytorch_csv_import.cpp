#include "workloads/schedules/pytorch_csv.hpp"

namespace lockstep {

ImportedOrder import_pytorch_csv(std::string_view, StagePlacement) { return {}; }

}  // namespace lockstep
