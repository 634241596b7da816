// A pipeline's order as PyTorch writes it. How the stages stand follows from the length. What reads comes back the same
// from what is written of it.
#include "tests/fuzz/readers/target.hpp"
#include "workloads/pipeline/csv/pytorch_csv.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  const auto placement = workloads::all_stage_placements[size % std::size(workloads::all_stage_placements)];
  const auto read = import_pytorch_csv(test::text_of(data, size), placement);
  if (!read.problems.empty()) return 0;
  for (const bool communication : {false, true}) {
    const auto again = import_pytorch_csv(export_pytorch_csv(read.order, {communication, false}), placement);
    if (!again.problems.empty()) throw test::Defect("what was written is refused: " + again.problems.front().what);
    if (export_pytorch_csv(again.order) != export_pytorch_csv(read.order))
      throw test::Defect("what was written reads differently");
  }
  return 0;
}
