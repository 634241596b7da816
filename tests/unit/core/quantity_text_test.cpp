#include "sim/core/quantity_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace lockstep {
namespace {

template <class Wanted>
typename Wanted::rep value(const std::variant<Wanted, QuantityError>& parsed) {
  if (const auto* error = std::get_if<QuantityError>(&parsed)) ADD_FAILURE() << error->what;
  return std::holds_alternative<Wanted>(parsed) ? std::get<Wanted>(parsed).value() : typename Wanted::rep{};
}

template <class Wanted>
std::string error(const std::variant<Wanted, QuantityError>& parsed) {
  if (std::holds_alternative<Wanted>(parsed)) return "accepted";
  const auto& error = std::get<QuantityError>(parsed);
  return error.what + "; expected " + error.expected;
}

TEST(ParseBytes, PrefixesArePowersOf1000Or1024) {
  EXPECT_EQ(value(parse_bytes("512 B")), 512);
  EXPECT_EQ(value(parse_bytes("3 kB")), 3'000);
  EXPECT_EQ(value(parse_bytes("80 GB")), 80'000'000'000);
  EXPECT_EQ(value(parse_bytes("80 GiB")), 80 * (std::int64_t{1} << 30));
  EXPECT_EQ(value(parse_bytes("1.5 KiB")), 1'536);
  EXPECT_EQ(value(parse_bytes("2MiB")), 2'097'152);
  EXPECT_EQ(value(parse_bytes("1 TiB")), std::int64_t{1} << 40);
  EXPECT_EQ(value(parse_bytes("4 PB")), 4'000'000'000'000'000);
  EXPECT_EQ(value(parse_bytes("9 EB")), 9'000'000'000'000'000'000);
}

TEST(ParseBytes, ASmallBIsABit) {
  EXPECT_EQ(value(parse_bytes("8 Gb")), 1'000'000'000);
  EXPECT_EQ(value(parse_bytes("8 bit")), 1);
}

TEST(ParseBytes, RoundsToWholeBytes) {
  EXPECT_EQ(value(parse_bytes("1.1 GB")), 1'100'000'000);
  EXPECT_EQ(value(parse_bytes("1.35 KiB")), 1'382);  // 1382.4
  EXPECT_EQ(value(parse_bytes("0 GiB")), 0);
  EXPECT_EQ(error(parse_bytes("0.5 B")), "`0.5 B` is less than one byte; expected a size such as 80 GiB");
}

TEST(ParseBytes, RefusesWhatDoesNotFit) {
  EXPECT_EQ(error(parse_bytes("9.3 EB")), "`9.3 EB` is out of range; expected a size below 8 EiB");
  EXPECT_EQ(error(parse_bytes("1e400 B")), "`1e400 B` is out of range; expected a size such as 80 GiB");
}

TEST(ParseBytesPerSecond, TakesBitsAndBytesInAllCustomarySpellings) {
  for (const char* text :
       {"400 Gbps", "400Gbps", "400 Gb/s", "400 Gbit/s", "50 GB/s", "50GB/s", "50 GBps", "5e1 GB/s"}) {
    EXPECT_EQ(value(parse_bytes_per_second(text)), 50e9) << text;
  }
  EXPECT_EQ(value(parse_bytes_per_second("1 GiB/s")), 0x1p30);
}

TEST(ParseSeconds, TakesFractionsOfASecond) {
  EXPECT_EQ(value(parse_seconds("2 s")), 2.0);
  EXPECT_EQ(value(parse_seconds("1.5 ms")), 1.5e-3);
  EXPECT_EQ(value(parse_seconds("2 us")), 2e-6);
  EXPECT_EQ(value(parse_seconds("2 µs")), 2e-6);
  EXPECT_EQ(value(parse_seconds("7ns")), 7e-9);
  EXPECT_EQ(value(parse_seconds("3 ps")), 3e-12);
  EXPECT_EQ(value(parse_seconds("5 min")), 300.0);
  EXPECT_EQ(value(parse_seconds("50000 h")), 1.8e8);
  EXPECT_EQ(value(parse_seconds("1 day")), 86400.0);
  EXPECT_EQ(value(parse_seconds("1.5 days")), 129600.0);
  EXPECT_EQ(value(parse_seconds("2 years")), 2 * 8760 * 3600.0);
  EXPECT_EQ(error(parse_seconds("5 mh")), "`5 mh` has the unknown unit `mh`; expected a time such as 2 us");
  EXPECT_EQ(error(parse_seconds("5 Ms")), "`5 Ms` has the unknown unit `Ms`; expected a time such as 2 us");
}

TEST(ParseFlopsPerSecond, TakesOperationsOfAnyKind) {
  for (const char* text : {"989 TFLOP/s", "989 TFLOPS", "989 TOP/s", "989 TOPS", "0.989 PFLOP/s", "989e12 OP/s"}) {
    EXPECT_DOUBLE_EQ(value(parse_flops_per_second(text)), 989e12) << text;
  }
  EXPECT_EQ(error(parse_flops_per_second("989 TFLOPs")),
            "`989 TFLOPs` is a count of operations, not a compute rate; expected a compute rate such as 989 TFLOP/s");
}

TEST(ParseQuantity, RefusesABareNumber) {
  EXPECT_EQ(error(parse_bytes("80")), "`80` has no unit; expected a size such as 80 GiB");
  EXPECT_EQ(error(parse_seconds("0")), "`0` has no unit; expected a time such as 2 us");
  EXPECT_EQ(error(parse_bytes_per_second("1e9 ")),
            "`1e9 ` has no unit; expected a bandwidth such as 90 GB/s or 400 Gbps");
}

TEST(ParseQuantity, RefusesAnotherDimension) {
  EXPECT_EQ(error(parse_bytes("80 GB/s")), "`80 GB/s` is a bandwidth, not a size; expected a size such as 80 GiB");
  EXPECT_EQ(error(parse_seconds("3 MB")), "`3 MB` is a size, not a time; expected a time such as 2 us");
  EXPECT_EQ(error(parse_bytes_per_second("2 us")),
            "`2 us` is a time, not a bandwidth; expected a bandwidth such as 90 GB/s or 400 Gbps");
  EXPECT_EQ(error(parse_bytes("9 TOPS")), "`9 TOPS` is a compute rate, not a size; expected a size such as 80 GiB");
}

TEST(ParseQuantity, RefusesUnknownUnitsAndPrefixes) {
  EXPECT_EQ(error(parse_bytes("80 KB")), "`80 KB` has the unknown unit `KB`; expected a size such as 80 GiB");
  EXPECT_EQ(error(parse_bytes("80 gib")), "`80 gib` has the unknown unit `gib`; expected a size such as 80 GiB");
  EXPECT_EQ(error(parse_bytes("80 mB")), "`80 mB` has the unknown unit `mB`; expected a size such as 80 GiB");
  EXPECT_EQ(error(parse_bytes("1 000 B")), "`1 000 B` has the unknown unit `000 B`; expected a size such as 80 GiB");
  EXPECT_EQ(error(parse_bytes("1.B")), "`1.B` has the unknown unit `.B`; expected a size such as 80 GiB");
}

TEST(ParseQuantity, RefusesWhatIsNoPlainPositiveNumber) {
  EXPECT_EQ(error(parse_bytes("GiB")), "`GiB` is not a size; expected a size such as 80 GiB");
  EXPECT_EQ(error(parse_bytes("")), "`` is not a size; expected a size such as 80 GiB");
  EXPECT_EQ(error(parse_bytes("+1 B")), "`+1 B` is not a size; expected a size such as 80 GiB");
  EXPECT_EQ(error(parse_bytes(".5 GB")), "`.5 GB` is not a size; expected a size such as 80 GiB");
  EXPECT_EQ(error(parse_bytes("nan B")), "`nan B` is not a size; expected a size such as 80 GiB");
  EXPECT_EQ(error(parse_bytes("inf B")), "`inf B` is not a size; expected a size such as 80 GiB");
  EXPECT_EQ(error(parse_bytes("010 B")), "`010 B` has a leading zero; expected a size such as 80 GiB");
  EXPECT_EQ(error(parse_bytes("0x10 B")), "`0x10 B` has the unknown unit `x10 B`; expected a size such as 80 GiB");
  EXPECT_EQ(error(parse_bytes("-1 B")), "`-1 B` is negative; expected a size such as 80 GiB");
}

}  // namespace
}  // namespace lockstep
