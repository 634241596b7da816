#include "workloads/traces/trace_folder.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "sim/core/counted.hpp"
#include "workloads/traces/trace_formats_private.hpp"

namespace lockstep::workloads {
namespace {

using Files = std::vector<std::filesystem::path>;

std::string ending(const std::filesystem::path& file) {
  return (file.extension() == ".gz" ? file.stem() : file).extension().string();
}

const TraceFormat* known_format(const std::filesystem::path& file) {
  try {
    return &format_of(*TraceText::of_file(file));
  } catch (const ConfigError&) {
    return nullptr;
  }
}

/// "2 files of Kineto (a.json, b.json)".
std::string text_of(std::string_view kind, const Files& files) {
  constexpr std::size_t most = 3;
  std::string names;
  for (std::size_t i = 0; i < std::min(files.size(), most); ++i)
    names += (i == 0 ? "" : ", ") + files[i].filename().string();
  return counted(files.size(), "file") + " of " + std::string(kind) + " (" + names +
         (files.size() > most ? ", ..." : "") + ")";
}

class Folder {
 public:
  explicit Folder(const std::string& name) : name_(name) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(name, error)) {
      const auto file = entry.path().filename().string();
      if (!entry.is_regular_file() || file.starts_with(".") || file == "groups.json") continue;
      all_.push_back(entry.path());
    }
    if (error) refuse("the folder cannot be read: " + error.message(), "a folder of traces");
    if (all_.empty()) refuse("the folder has no traces", "one file for each rank");
    std::sort(all_.begin(), all_.end());
    for (const auto& file : all_) {
      if (const auto* format = known_format(file))
        of_format_[format->name].push_back(file);
      else
        unknown_.push_back(file);
    }
  }

  void choose(TraceFiles& into) {
    std::set<std::string_view> taken;
    for (const bool with_kernels : {true, false}) {
      for (const auto* format : trace_formats()) {
        if (format->has_kernels == with_kernels && of_format_.contains(format->name)) taken.insert(format->name);
      }
      if (!taken.empty()) break;
    }
    if (taken.size() > 1) {
      std::string list;
      for (const auto kind : taken) list += (list.empty() ? "" : ", ") + text_of(kind, of_format_[kind]);
      refuse("traces of several kinds that would each do: " + list, "a folder of one kind, or the files by name");
    }
    if (taken.contains(kineto_format.name) && of_format_.contains(execution_trace_format.name))
      taken.insert(execution_trace_format.name);
    std::set<std::string> endings;
    Files files;
    for (const auto kind : taken) {
      for (const auto& file : of_format_[kind]) {
        files.push_back(file);
        endings.insert(ending(file));
      }
    }
    Files others;
    for (const auto& file : unknown_)  // a broken trace is told when it is read
      (taken.empty() || endings.contains(ending(file)) ? files : others).push_back(file);
    std::sort(files.begin(), files.end());
    into.files.insert(into.files.end(), files.begin(), files.end());
    for (const auto& [kind, left] : of_format_) {
      if (!taken.contains(kind)) leave_out(text_of(kind, left), into);
    }
    if (!others.empty()) leave_out(text_of("no known format", others), into);
  }

 private:
  [[noreturn]] void refuse(std::string what, std::string expected) const {
    throw ConfigError({{{name_, 0, 0}, "", std::move(what), std::move(expected)}});
  }
  void leave_out(const std::string& what, TraceFiles& into) const {
    into.left_out.push_back("Not read, in " + name_ + ": " + what + ".");
  }

  std::string name_;
  Files all_, unknown_;
  std::map<std::string_view, Files> of_format_;
};

}  // namespace

TraceFiles trace_files(const std::vector<std::string>& words) {
  TraceFiles made;
  for (const auto& word : words) {
    std::error_code error;
    if (std::filesystem::is_directory(word, error))
      Folder(word).choose(made);
    else
      made.files.emplace_back(word);
  }
  return made;
}

}  // namespace lockstep::workloads
