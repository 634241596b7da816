#include "tools/mpi/helper.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

#include "sim/core/errors.hpp"

namespace lockstep::mpi {
namespace {

bool write_all(int file, const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const auto written = ::write(file, at, size);
    if (written <= 0) return false;
    at += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

bool read_all(int file, void* data, std::size_t size) {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    const auto got = ::read(file, at, size);
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

void append_number(std::string& text, std::uint64_t number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::uint64_t number_at(std::string_view text, std::size_t at) {
  std::uint64_t number = 0;
  std::memcpy(&number, text.substr(at, sizeof number).data(), sizeof number);
  return number;
}

/// Until the requests end: a count and as many points in, a length and the rows out.
void serve(int requests, int answers, const sweep::Sweep& sweep, const sweep::SweepOptions& options,
           spdlog::logger& log) {
  for (std::uint64_t count = 0; read_all(requests, &count, sizeof count);) {
    std::vector<std::int64_t> points(count);
    if (!read_all(requests, points.data(), count * sizeof(std::int64_t))) return;
    std::string rows;
    simulate_points(sweep, points, options, log, [&](std::int64_t point, const sweep::PointResult& result) {
      const auto text = to_text(result);
      append_number(rows, static_cast<std::uint64_t>(point));
      append_number(rows, text.size());
      rows += text;
    });
    const std::uint64_t size = rows.size();
    if (!write_all(answers, &size, sizeof size) || !write_all(answers, rows.data(), size)) return;
  }
}

}  // namespace

PointHelper::PointHelper(const sweep::Sweep& sweep, const sweep::SweepOptions& options, spdlog::logger& log) {
  std::array<int, 2> requests{}, answers{};
  if (::pipe(requests.data()) != 0 || ::pipe(answers.data()) != 0) throw InternalError("no pipe to a helper");
  const auto parent = ::getpid();
  process_ = ::fork();
  if (process_ < 0) throw InternalError("no helper process");
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::close(requests[1]);
    ::close(answers[0]);
    serve(requests[0], answers[1], sweep, options, log);
    ::_exit(0);
  }
  ::close(requests[0]);
  ::close(answers[1]);
  requests_ = requests[1];
  answers_ = answers[0];
}

PointHelper::~PointHelper() {
  ::close(requests_);
  ::close(answers_);
  ::waitpid(process_, nullptr, 0);
}

std::string PointHelper::simulate(std::span<const std::int64_t> points) {
  const std::uint64_t count = points.size();
  std::uint64_t size = 0;
  std::string rows;
  bool answered = write_all(requests_, &count, sizeof count) &&
                  write_all(requests_, points.data(), points.size_bytes()) && read_all(answers_, &size, sizeof size);
  if (answered) {
    rows.resize(size);
    answered = read_all(answers_, rows.data(), size);
  }
  if (!answered) throw InternalError("the helper of this rank has ended");
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
