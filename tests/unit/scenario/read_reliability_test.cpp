// `reliability` reaches its fields, and published rates are those of the catalog.
#include <gtest/gtest.h>

#include "sim/scenario/reliability.hpp"
#include "tests/unit/scenario/small_scenario.hpp"

namespace lockstep::test {
namespace {

TEST(ReadReliability, HasClassesAndACheckpoint) {
  const auto spec =
      small_scenario({{"reliability",
                       "{failures: {gpu: {of: chip, mtbf: 50000 h}, log: {of: host, observed: {failures: 148, "
                       "over: 54 days, among: 2048}, restart: 10 min}, stop: {of: job, mtbf: 30 days, "
                       "planned: true}}, restart: 5 min, detection: 2 min, spares: 3, elastic: true, "
                       "checkpoint: {interval: 20 min, write_bandwidth: 2 TB/s, mode: asynchronous, stall: 4 "
                       "s}}"}})
          .reliability.value();
  ASSERT_EQ(spec.classes.size(), 3U);
  EXPECT_EQ(spec.classes[0].name, "gpu");
  EXPECT_EQ(spec.classes[0].of, scenario::Component::chip);
  EXPECT_DOUBLE_EQ(spec.classes[0].mtbf.value(), 50000.0 * 3600);
  EXPECT_EQ(spec.classes[1].of, scenario::Component::host);
  EXPECT_EQ(spec.classes[1].observed, 148);
  EXPECT_DOUBLE_EQ(spec.classes[1].over.value(), 54.0 * 86400);
  EXPECT_EQ(spec.classes[1].among, 2048);
  EXPECT_EQ(spec.classes[1].restart, Seconds(600));
  EXPECT_TRUE(spec.classes[2].planned);
  EXPECT_EQ(spec.restart, Seconds(300));
  EXPECT_EQ(spec.detection, Seconds(120));
  EXPECT_EQ(spec.spares, 3);
  EXPECT_TRUE(spec.elastic);
  EXPECT_EQ(spec.checkpoint.interval, Seconds(1200));
  EXPECT_EQ(spec.checkpoint.write, BytesPerSecond(2e12));
  EXPECT_EQ(spec.checkpoint.read, BytesPerSecond(2e12)) << "as it writes, unless said otherwise";
  EXPECT_TRUE(spec.checkpoint.asynchronous);
  EXPECT_EQ(spec.checkpoint.stall, Seconds(4));
}

TEST(ReadReliability, HasPartsWithoutWhichTheJobGoesOn) {
  const auto spec =
      small_scenario({{"reliability",
                       "{failures: {spine: {of: switch, tier: 2, mtbf: published, repair: 4 h, stops: false, source: a "
                       "log}, port: {of: nic, mtbf: 1 h, stops: false, bandwidth: 0.5}, hot: {of: host, mtbf: 1 h, "
                       "stops: false, slowdown: 1.2}}, restart: 5 min, repair: 1 day, checkpoint: {host_bandwidth: 5 "
                       "GB/s, over: nics}}"}})
          .reliability.value();
  ASSERT_EQ(spec.classes.size(), 3U);
  EXPECT_EQ(spec.classes[0].tier, 2);
  EXPECT_FALSE(spec.classes[0].stops);
  EXPECT_EQ(spec.classes[0].observed, 51) << "as the catalog has it";
  EXPECT_EQ(spec.classes[0].among, 100000);
  EXPECT_EQ(spec.classes[1].bandwidth, 0.5);
  EXPECT_EQ(spec.classes[2].slowdown, 1.2);
  EXPECT_EQ(spec.checkpoint.host, BytesPerSecond(5e9));
  EXPECT_TRUE(spec.checkpoint.over_nics);
  EXPECT_EQ(spec.checkpoint.write, BytesPerSecond(0)) << "the hosts are the limit";
}

TEST(ReadReliability, PublishedFailuresAreThoseOfTheCatalog) {
  const auto spec =
      small_scenario({{"reliability", "{failures: published, restart: 5 min, checkpoint: {write_bandwidth: 1 TB/s}}"}})
          .reliability.value();
  ASSERT_EQ(spec.classes.size(), scenario::published_failures().size());
  for (const auto& one : spec.classes) EXPECT_TRUE(one.published) << one.name;
}

}  // namespace
}  // namespace lockstep::test
