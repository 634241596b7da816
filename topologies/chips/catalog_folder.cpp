#include <algorithm>
#include <system_error>

#include "sim/core/known_word.hpp"
#include "topologies/chips/catalog_folder_private.hpp"

namespace lockstep::topologies {

std::vector<std::string> catalog_entries(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::filesystem::path catalog_file(const std::filesystem::path& folder, std::string_view name) {
  return folder / (std::string(name) + ".yaml");
}

std::string catalog_entry(const std::filesystem::path& folder, std::string_view word) {
  const auto entry = known_word(word, catalog_entries(folder));
  return entry.empty() ? std::string(word) : entry;
}

bool is_catalog_entry(const std::filesystem::path& folder, std::string_view what, std::string_view name,
                      Problems& problems) {
  const std::vector<std::string> names = catalog_entries(folder);
  if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  std::string expected = did_you_mean(name, names);
  if (expected.empty()) {
    expected = names.empty() ? "a catalog of " + std::string(what) + "s here" : "one of";
    for (const std::string& known : names) expected += (known == names.front() ? " " : ", ") + known;
  }
  problems.add(
      {{folder.string(), 0, 0}, "", "there is no " + std::string(what) + " `" + std::string(name) + '`', expected});
  return false;
}

}  // namespace lockstep::topologies
