#include "tools/report/report_data.hpp"

#include <bit>

namespace lockstep::report {
namespace {

void append_bytes(std::string& out, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
}

}  // namespace

ReportData::Json ReportData::whole(std::span<const std::uint64_t> numbers) {
  const auto at = bytes_.size();
  for (auto number : numbers) {
    for (; number > 127; number >>= 7) bytes_ += static_cast<char>((number & 127) | 128);
    bytes_ += static_cast<char>(number);
  }
  return {{"whole", {at, numbers.size()}}};
}

ReportData::Json ReportData::real(std::span<const double> numbers) {
  const auto at = bytes_.size();
  for (const double number : numbers) append_bytes(bytes_, std::bit_cast<std::uint64_t>(number), 8);
  return {{"real", {at, numbers.size()}}};
}

ReportData::Json ReportData::nested(std::string_view packed) {
  const auto at = bytes_.size();
  bytes_ += packed;
  return {{"nested", {at, packed.size()}}};
}

std::string ReportData::packed(const Json& document) const {
  const auto text = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  append_bytes(out, text.size(), 4);
  return out + text + bytes_;
}

}  // namespace lockstep::report
