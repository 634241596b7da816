// The output of nccl-tests.
#include "sim/studies/calibration/nccl_log.hpp"
#include "tests/fuzz/readers/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  static const test::InputFile file("run.log");
  const auto& written = file.with(test::text_of(data, size));
  for (const auto* kind : {"", "all_to_all"}) {
    Problems problems;
    const auto timed = calibration::read_nccl_log(written, {kind, 0}, problems);
    if (timed.empty()) test::check(problems.list());
    for (const auto& one : timed) {
      if (one.ranks < 2 || one.nodes < 1 || one.size.value() < 1 || !(one.time.value() > 0))
        throw test::Defect("a collective of nothing");
    }
  }
  return 0;
}
