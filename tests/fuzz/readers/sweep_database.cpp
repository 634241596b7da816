// A database of a sweep: what `lockstep sweep --db` reads of it, and what resuming it does.
#include "tests/fuzz/readers/target.hpp"
#include "tools/sweep/export_csv.hpp"
#include "tools/sweep/merge.hpp"
#include "tools/sweep/summary.hpp"
#include "tools/sweep/sweep_table.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  static const test::InputFile file("sweep.db");
  return test::answered([&] {
    const auto& written = file.with(test::text_of(data, size));
    const auto header = sweep::header_in(written);
    {
      sweep::Database database(written, sweep::Database::Mode::read);
      (void)export_csv(database, header);
      const auto table = read_table(database, header);
      if (!table.keys.empty()) (void)sweep_picture(table, axes_named(table, "", "", ""), "fuzzed");
      (void)sweep_summary(database, header, written);
    }
    sweep::SweepStore store(written, header);
    store.forget_failures();
    store.finish();
  });
}
