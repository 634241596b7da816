#include "sim/studies/recipes/scenario_draft.hpp"

#include <algorithm>
#include <array>

namespace lockstep::recipes {
namespace {

constexpr std::array<std::string_view, 11> order{"format",   "model",         "cluster", "mesh",
                                                 "parallel", "pipeline",      "batch",   "routing",
                                                 "training", "communication", "search"};

bool is_below(const std::string& key, const std::string& above) {
  return key.size() > above.size() && key.starts_with(above) && (above.empty() || key[above.size()] == '.');
}

/// The written text, and which line of the draft each of its lines is; none: a line that only opens a block.
struct Written {
  std::string text;
  std::vector<const ScenarioDraft::Line*> lines;
};

/// Writes what stands below a key, in the order in which it was set.
void write_below(const std::string& above, const std::vector<ScenarioDraft::Line>& lines, Written& out) {
  const auto begin = above.empty() ? 0 : above.size() + 1;
  const auto depth = static_cast<std::size_t>(std::count(above.begin(), above.end(), '.')) + 1;
  std::vector<std::string> opened;
  for (const auto& line : lines) {
    if (!is_below(line.key, above)) continue;
    const auto end = line.key.find('.', begin);
    const auto name = line.key.substr(begin, end - begin);
    if (end == std::string::npos) {
      const auto text = std::string(2 * depth, ' ') + name + ": " + line.value;
      out.text += text + (line.because.empty() ? "" : "  # " + line.because) + "\n";
      out.lines.push_back(&line);
    } else if (const auto block = line.key.substr(0, end);
               std::find(opened.begin(), opened.end(), block) == opened.end()) {
      opened.push_back(block);
      out.text += std::string(2 * depth, ' ') + name + ":\n";
      out.lines.push_back(nullptr);
      write_below(block, lines, out);
    }
  }
}

Written written(const std::vector<ScenarioDraft::Line>& lines) {
  Written out;
  for (const auto top : order) {
    const auto key = std::string(top);
    const auto whole = std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.key == key; });
    if (whole != lines.end()) {
      out.text += key + ": " + whole->value + (whole->because.empty() ? "" : "  # " + whole->because) + "\n";
      out.lines.push_back(&*whole);
    } else if (std::any_of(lines.begin(), lines.end(), [&](const auto& line) { return is_below(line.key, key); })) {
      out.text += key + ":\n";
      out.lines.push_back(nullptr);
      write_below(key, lines, out);
    }
  }
  return out;
}

}  // namespace

void ScenarioDraft::put(Line line) {
  remove(line.key);
  // A key that was set whole gives way to one of its parts.
  std::erase_if(lines_, [&](const auto& other) { return is_below(line.key, other.key); });
  lines_.push_back(std::move(line));
}

void ScenarioDraft::set(const std::string& key, const std::string& value, const RecipeOption& because) {
  put({key, value, because.shown + ", line " + std::to_string(because.where.line), because.shown, because.where});
}

void ScenarioDraft::set(const std::string& key, const std::string& value, const std::string& because) {
  put({key, value, because, "", {}});
}

bool ScenarioDraft::has(const std::string& key) const {
  return std::any_of(lines_.begin(), lines_.end(), [&](const auto& line) { return line.key == key; });
}

std::string ScenarioDraft::value(const std::string& key) const {
  const auto found = std::find_if(lines_.begin(), lines_.end(), [&](const auto& line) { return line.key == key; });
  return found == lines_.end() ? "" : found->value;
}

void ScenarioDraft::remove(const std::string& key) {
  std::erase_if(lines_, [&](const auto& line) { return line.key == key || is_below(line.key, key); });
}

void ScenarioDraft::leave_out(const RecipeOption& option, std::string why) {
  const auto value = option.text();
  left_out_.push_back({option.shown + (value.empty() ? "" : " " + value), option.where, std::move(why)});
}

std::string ScenarioDraft::yaml() const { return written(lines_).text; }

Problem ScenarioDraft::told_of_option(const Problem& problem) const {
  const auto all = written(lines_).lines;
  const auto at = static_cast<std::size_t>(problem.where.line) - 1;
  const bool is_inside = problem.where.line > 0 && at < all.size();
  // The problem of a block is told of the first option in it.
  const auto found = std::find_if(all.begin() + static_cast<std::ptrdiff_t>(is_inside ? at : all.size()), all.end(),
                                  [](const auto* line) { return line != nullptr; });
  if (found == all.end()) return {{problem.where.file, 0, 0}, problem.key, problem.what, problem.expected};
  const auto& line = **found;
  if (line.option.empty()) return {{problem.where.file, 0, 0}, problem.key, problem.what, problem.expected};
  return {line.where, line.option, problem.what + " (" + problem.key + ")", problem.expected};
}

}  // namespace lockstep::recipes
