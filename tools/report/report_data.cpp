#include "tools/report/report_data.hpp"

#include <bit>
#include <utility>

#include "tools/report/repetitions.hpp"

namespace lockstep::report {
namespace {

void append_bytes(std::string& out, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
}

void append_whole(std::string& out, std::uint64_t number) {
  for (; number > 127; number >>= 7) out += static_cast<char>((number & 127) | 128);
  out += static_cast<char>(number);
}

}  // namespace

ReportData::Json ReportData::whole(std::span<const std::uint64_t> numbers) {
  const auto at = bytes_.size();
  for (const auto number : numbers) append_whole(bytes_, number);
  return {{"whole", {at, numbers.size()}}};
}

void ReportData::append_repeating(std::span<const std::uint64_t> numbers) {
  for (const auto& [first, fresh, repeated, before] : repetitions(numbers)) {
    append_whole(bytes_, fresh);
    for (const auto number : numbers.subspan(first, fresh)) append_whole(bytes_, number);
    append_whole(bytes_, repeated);
    append_whole(bytes_, before);
  }
}

ReportData::Json ReportData::repeating(std::span<const std::uint64_t> numbers) {
  const auto at = bytes_.size();
  append_repeating(numbers);
  return {{"repeating", {at, numbers.size()}}};
}

ReportData::Json ReportData::growing(std::span<const std::uint64_t> numbers) {
  const auto at = bytes_.size();
  std::vector<std::uint64_t> differences;
  differences.reserve(numbers.size());
  std::uint64_t last = 0;
  for (const auto number : numbers)
    differences.push_back(without_sign(static_cast<std::int64_t>(number - std::exchange(last, number))));
  append_repeating(differences);
  return {{"growing", {at, numbers.size()}}};
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
