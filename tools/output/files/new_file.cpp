#include "tools/output/files/new_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

#include "sim/core/errors.hpp"
#include "sim/core/indexed.hpp"
#include "sim/core/readable_file.hpp"
#include "sim/core/visible_text.hpp"
#include "tools/output/files/out_of_room.hpp"

namespace lockstep::output {
namespace {

namespace fs = std::filesystem;

// ---- what a signal removes -------------------------------------------------------------------------

/// A name that a signal's handler can read; it may neither allocate nor lock. Forked children have it too, but did not
/// make it.
struct Slot {
  std::atomic<::pid_t> owner{0};
  std::array<char, PATH_MAX> name{};
};
IndexedArray<int, Slot, 64> slots;

extern "C" void remove_and_end(int signal) {
  for (auto& slot : slots) {
    if (slot.owner.load() == ::getpid()) ::unlink(slot.name.data());
  }
  ::raise(signal);  // its default is back (SA_RESETHAND)
}

/// Whoever asked that a signal be ignored (nohup) still has it so. Again for every file, since SimGrid has handlers
/// too.
void remove_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU}) {
    struct ::sigaction before {};
    if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) continue;
    struct ::sigaction action {};
    action.sa_handler = remove_and_end;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(signal, &action, nullptr);
  }
}

int registered(const fs::path& file) {
  const auto name = file.string();
  if (name.size() >= PATH_MAX) return -1;
  for (const int number : slots.ids()) {
    auto& slot = slots[number];
    if (slot.owner.load() == ::getpid()) continue;
    slot.owner.store(0);
    std::memcpy(slot.name.data(), name.c_str(), name.size() + 1);
    slot.owner.store(::getpid());
    return number;
  }
  return -1;
}

// ---- files -----------------------------------------------------------------------------------------

/// A link is followed: its file is replaced, not the link.
fs::path end_of_link(const fs::path& place) {
  std::error_code error;
  const auto end = fs::is_symlink(place, error) ? fs::canonical(place, error) : place;
  return error ? place : end;
}

}  // namespace

void refuse_to_write(const std::string& place, int error) {
  const std::string why = error == ENOSPC   ? "the disk is full"
                          : error == EDQUOT ? "the disk's quota is used up"
                          : error == EFBIG  ? "the file is larger than the limit on file sizes"
                          : error == EIO    ? "the disk fails"
                                            : "";
  if (!why.empty())
    throw OutOfRoom(visible(place) + ": " + why +
                    "; nothing of it is written: make room and run the same command again");
  throw ConfigError({{{place, 0, 0},
                      "",
                      "cannot be written: " + std::generic_category().message(error),
                      "a file in a folder that exists and may be written"}});
}

void survive_file_size_limit() { std::signal(SIGXFSZ, SIG_IGN); }

NewFile::NewFile(const fs::path& place) : place_(place), target_(end_of_link(place)), temporary_(target_) {
  if (is_input(target_))
    throw ConfigError({{{place.string(), 0, 0}, "", "is what the command reads", "another file to write"}});
  std::error_code error;
  const auto there = fs::status(target_, error);
  as_it_stands_ = fs::exists(there) && !fs::is_regular_file(there) && !fs::is_directory(there);
  if (as_it_stands_) {
    handle_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    temporary_ += ".tmp" + std::to_string(::getpid());
    remove_on_signals();
    slot_ = registered(temporary_);
    handle_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
  }
  if (handle_ >= 0) return;
  const int why = errno;
  if (slot_ >= 0) slots[slot_].owner.store(0);
  fail(why);
}

NewFile::~NewFile() {
  if (handle_ >= 0) ::close(handle_);
  if (as_it_stands_) return;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  if (slot_ >= 0) slots[slot_].owner.store(0);
}

void NewFile::write(std::string_view content) {
  while (!content.empty()) {
    const auto written = ::write(handle_, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

void NewFile::close() {
  if (handle_ >= 0 && ::close(std::exchange(handle_, -1)) != 0) fail(errno);
}

void NewFile::name() {
  if (as_it_stands_) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
  if (slot_ >= 0) slots[std::exchange(slot_, -1)].owner.store(0);
}

void NewFile::fail(int error) const { refuse_to_write(place_.string(), error); }

NewFiles::NewFiles(const fs::path& folder) {
  std::error_code error;
  for (auto missing = folder; !missing.empty() && !fs::exists(missing, error); missing = missing.parent_path())
    made_folders_.push_back(missing);
  fs::create_directories(folder, error);
  if (!error && fs::is_directory(folder, error)) return;
  const auto why = error;
  for (const auto& made : std::exchange(made_folders_, {})) fs::remove(made, error);
  if (why == std::errc::no_space_on_device) refuse_to_write(folder.string(), why.value());
  throw ConfigError({{{folder.string(), 0, 0},
                      "",
                      "cannot be made a folder" + (why ? ": " + why.message() : std::string()),
                      "a folder that can be written"}});
}

NewFiles::~NewFiles() {
  files_.clear();
  std::error_code ignored;
  for (const auto& folder : made_folders_) fs::remove(folder, ignored);  // only empty ones
}

NewFile& NewFiles::open(const fs::path& place) { return *files_.emplace_back(std::make_unique<NewFile>(place)); }

void NewFiles::write(const fs::path& place, std::string_view content) {
  auto& file = open(place);
  file.write(content);
  file.close();
}

void NewFiles::finish() {
  for (auto& file : files_) file->close();
  for (auto& file : files_) file->name();
  files_.clear();
  made_folders_.clear();
}

}  // namespace lockstep::output
