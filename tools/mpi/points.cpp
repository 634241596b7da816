#include "tools/mpi/points.hpp"

#include <cstring>

namespace lockstep::mpi {
namespace {

void append_number(std::string& text, std::uint64_t number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::uint64_t number_at(std::string_view text, std::size_t at) {
  std::uint64_t number = 0;
  std::memcpy(&number, text.substr(at, sizeof number).data(), sizeof number);
  return number;
}

}  // namespace

std::string text_of(std::span<const std::int64_t> points) {
  return {reinterpret_cast<const char*>(points.data()), points.size_bytes()};
}

std::string rows_of(std::string_view text, const sweep::Sweep& sweep, const sweep::SweepOptions& options,
                    spdlog::logger& log) {
  std::vector<std::int64_t> points(text.size() / sizeof(std::int64_t));
  std::memcpy(points.data(), text.data(), points.size() * sizeof(std::int64_t));
  std::string rows;
  simulate_points(sweep, points, options, log, [&](std::int64_t point, const sweep::PointResult& result) {
    const auto row = to_text(result);
    append_number(rows, static_cast<std::uint64_t>(point));
    append_number(rows, row.size());
    rows += row;
  });
  return rows;
}

std::vector<std::pair<std::int64_t, sweep::PointResult>> rows_in(std::string_view text) {
  std::vector<std::pair<std::int64_t, sweep::PointResult>> rows;
  for (std::size_t at = 0; at < text.size();) {
    const auto point = static_cast<std::int64_t>(number_at(text, at));
    const auto size = number_at(text, at + 8);
    rows.emplace_back(point, sweep::result_in(text.substr(at + 16, size)));
    at += 16 + size;
  }
  return rows;
}

}  // namespace lockstep::mpi
