// The table of docs/case_studies/offload.md. Per GPU P = 70.6e9/16 parameters:
//
//     on the chip 2 P weights + 4 P gradients + activations; the optimizer's 12 P on the chip or on the host
//     the host's update reads and writes 32 P bytes at its memory's rate; 4 P go down and 2 P come up over PCIe
//
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "tests/validation/validated.hpp"

namespace lockstep {
namespace {

studies::Outcome offloading(const std::string& name, const std::vector<scenario::KeyOverride>& overrides) {
  const auto outcome = test::contended(test::shipped("llama3-70b-16-h100-offload.yaml", overrides));
  std::string line(200, '\0');
  const int size = std::snprintf(line.data(), line.size(), "| %s | %.1f s | %.0f %% | %.0f GB |\n", name.c_str(),
                                 outcome.step_s, 100 * outcome.mfu, static_cast<double>(outcome.peak_bytes) / 1e9);
  line.resize(static_cast<std::size_t>(size));
  std::printf("%s", line.c_str());
  std::ifstream in(std::filesystem::path(source_dir) / "docs/case_studies/offload.md");
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(in), {}), testing::HasSubstr(line));
  return outcome;
}

constexpr double parameters = 70.6e9 / 16;

TEST(Offload, OfTheOptimizerMakesTheModelFit) {
  const auto on_chip = offloading("nothing", {{"training.offload.optimizer", "false"}});
  const auto on_host = offloading("optimizer", {});
  EXPECT_GT(on_chip.peak_bytes, on_chip.capacity_bytes);
  EXPECT_LT(on_host.peak_bytes, on_host.capacity_bytes);
  EXPECT_NEAR(static_cast<double>(on_chip.peak_bytes - on_host.peak_bytes), 12 * parameters, 0.02 * 12 * parameters);
  // The stages' updates run at the same time; the first block's transfers are all that the last stage does not hide.
  EXPECT_NEAR(on_host.step_s - on_chip.step_s, 32 * parameters / 50e9, 0.1 * 32 * parameters / 50e9);
}

// Half the host's rate: once more the update's time.
TEST(Offload, WaitsForTheHost) {
  const auto fast = offloading("optimizer", {});
  const auto slow =
      offloading("optimizer, hosts of 25 GB/s a GPU", {{"training.offload.host_memory_bandwidth", "25 GB/s"}});
  EXPECT_NEAR(slow.step_s - fast.step_s, 32 * parameters / 50e9, 0.02 * 32 * parameters / 50e9);
}

// A layer's kept activations take less time over PCIe than the layer computes: they cost nothing.
TEST(Offload, OfActivationsHides) {
  const auto some = offloading("optimizer and 16 layers' activations", {{"training.offload.activation_layers", "16"}});
  const auto none = offloading("optimizer", {});
  EXPECT_NEAR(some.step_s, none.step_s, 0.001 * none.step_s);
  EXPECT_LT(some.peak_bytes, none.peak_bytes);
  const auto again = offloading("optimizer, layers computed again", {{"training.recompute", "full"}});
  EXPECT_GT(again.step_s, 1.2 * some.step_s);
}

}  // namespace
}  // namespace lockstep
