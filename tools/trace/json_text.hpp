#pragma once
/// JSON appended to a buffer piece by piece: a trace is too large to be built as a tree first.
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::trace {

/// With its quotes; what is not UTF-8 becomes U+FFFD.
void append_json(std::string& out, std::string_view text);
void append_json(std::string& out, std::int64_t value);
/// With the fewest digits that read back as the same double. Precondition: finite.
void append_json(std::string& out, double value);
/// Nanoseconds as microseconds, exactly: 123456 is 123.456.
void append_microseconds(std::string& out, std::int64_t nanoseconds);

}  // namespace lockstep::trace
