// A sweep file, and the scenarios of its first and last points.
#include "sim/studies/sweep/sweep.hpp"
#include "tests/fuzz/readers/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  static const test::InputFile file("sweep.yaml");
  return test::answered([&] {
    const auto sweep = sweep::load_sweep(file.with(test::text_of(data, size)));
    if (sweep.points() < 1) throw test::Defect("a sweep of no points");
    for (const auto point : {std::int64_t{0}, sweep.points() - 1}) {
      (void)sweep.identity(point);
      (void)test::answered([&] { (void)sweep.scenario_at(point); });
    }
  });
}
