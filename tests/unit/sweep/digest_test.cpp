#include "sim/core/digest.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

// FNV-1a in 128 bits, as its authors publish it: draft-eastlake-fnv, offset basis and the digests of "a" and "foobar".
TEST(Digest, IsFnv1a) {
  const auto of = [](std::string_view text) {
    Digest digest;
    digest.take(text);
    return digest.hex();
  };
  EXPECT_EQ(of(""), "6c62272e07bb014262b821756295c58d");
  EXPECT_EQ(of("a"), "d228cb696f1a8caf78912b704e4a8964");
  EXPECT_EQ(of("foobar"), "343e1662793c64bf6f0d3597ba446f18");
}

TEST(Digest, FieldsArePartedFromOneAnother) {
  Digest one, other;
  one.add("ab");
  one.add("c");
  other.add("a");
  other.add("bc");
  EXPECT_NE(one.hex(), other.hex());
}

}  // namespace
}  // namespace lockstep
