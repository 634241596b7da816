#include "tests/cli/terminal_run.hpp"

#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace lockstep::test {

TerminalRun on_terminal(const std::filesystem::path& folder, int columns, const std::vector<std::string>& arguments,
                        const std::string& interrupt_at) {
  ::winsize size{};
  size.ws_col = static_cast<unsigned short>(columns);
  size.ws_row = 50;
  std::vector<std::string> words{LOCKSTEP_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int terminal = -1;
  const auto process = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (process < 0) throw std::runtime_error("no pseudo terminal");
  if (process == 0) {
    if (::chdir(folder.c_str()) == 0) ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  TerminalRun done;
  bool interrupted = interrupt_at.empty();
  std::array<char, 4096> piece{};
  for (auto got = ::read(terminal, piece.data(), piece.size()); got > 0;
       got = ::read(terminal, piece.data(), piece.size())) {
    done.output.append(piece.data(), static_cast<std::size_t>(got));
    if (!interrupted && done.output.find(interrupt_at) != std::string::npos) {
      interrupted = true;
      if (::write(terminal, "\x03", 1) != 1) throw std::runtime_error("the terminal takes no keys");
    }
  }
  ::close(terminal);
  int status = 0;
  ::waitpid(process, &status, 0);
  done.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return done;
}

}  // namespace lockstep::test
