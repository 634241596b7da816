#include "tools/mpi/helper.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>

#include "sim/core/errors.hpp"
#include "sim/studies/isolated.hpp"

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

bool write_text(int file, const std::string& text) {
  const std::uint64_t size = text.size();
  return write_all(file, &size, sizeof size) && write_all(file, text.data(), size);
}

bool read_text(int file, std::string& text) {
  std::uint64_t size = 0;
  if (!read_all(file, &size, sizeof size)) return false;
  text.resize(size);
  return read_all(file, text.data(), size);
}

constexpr char well = 'w', out_of_resources = 'm', failed = 'f';

/// Until the requests end. An answer begins with how it went.
void serve(int requests, int answers, const Helper::Answer& answer) {
  for (std::string request; read_text(requests, request);) {
    std::string text;
    try {
      text = well + answer(request);
    } catch (const studies::OutOfResources& error) {
      text = out_of_resources + std::string(error.what());
    } catch (const std::exception& error) {
      text = failed + std::string(error.what());
    }
    if (!write_text(answers, text)) return;
  }
}

}  // namespace

Helper::Helper(const Answer& answer) {
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
    serve(requests[0], answers[1], answer);
    ::_exit(0);
  }
  ::close(requests[0]);
  ::close(answers[1]);
  requests_ = requests[1];
  answers_ = answers[0];
}

Helper::~Helper() {
  ::close(requests_);
  ::close(answers_);
  ::waitpid(process_, nullptr, 0);
}

std::string Helper::ask(const std::string& request) {
  std::string text;
  if (!write_text(requests_, request) || !read_text(answers_, text) || text.empty())
    throw InternalError("the helper of this rank has ended");
  const char how = text.front();
  text.erase(0, 1);
  if (how == out_of_resources) throw studies::OutOfResources(text);
  if (how == failed) throw InternalError(text);
  return text;
}

}  // namespace lockstep::mpi
