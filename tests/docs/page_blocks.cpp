#include "tests/docs/page_blocks.hpp"

#include <regex>
#include <sstream>

namespace lockstep::test {
namespace {

struct RawBlock {
  int line;
  std::string before;  ///< the paragraph above
  std::vector<std::string> lines;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool is_indented(const std::string& line) { return line.starts_with("    ") && line.size() > 4; }

std::vector<RawBlock> raw_blocks(const std::vector<std::string>& page) {
  std::vector<RawBlock> blocks;
  std::string paragraph;
  for (std::size_t i = 0; i < page.size(); ++i) {
    const bool after_empty = i == 0 || page[i - 1].empty();
    if (page[i].starts_with("```")) {
      RawBlock block{static_cast<int>(i) + 2, paragraph, {}};
      for (++i; i < page.size() && !page[i].starts_with("```"); ++i) block.lines.push_back(page[i]);
      blocks.push_back(std::move(block));
      paragraph.clear();
    } else if (after_empty && is_indented(page[i])) {
      RawBlock block{static_cast<int>(i) + 1, paragraph, {}};
      for (; i < page.size() && (is_indented(page[i]) || page[i].empty()); ++i)
        block.lines.push_back(page[i].empty() ? "" : page[i].substr(4));
      --i;
      while (block.lines.back().empty()) block.lines.pop_back();
      blocks.push_back(std::move(block));
      paragraph.clear();
    } else if (!page[i].empty()) {
      if (after_empty) paragraph.clear();
      paragraph += (paragraph.empty() ? "" : " ") + page[i];
    }
  }
  return blocks;
}

/// Without a comment behind it; a # inside quotes stays.
std::string without_comment(const std::string& line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quote != 0) {
      if (line[i] == quote) quote = 0;
    } else if (line[i] == '\'' || line[i] == '"') {
      quote = line[i];
    } else if (line[i] == '#' && i > 0 && line[i - 1] == ' ') {
      return line.substr(0, line.find_last_not_of(' ', i - 1) + 1);
    }
  }
  return line;
}

bool calls_lockstep(const std::string& line) {
  return line.starts_with("lockstep ") || line.starts_with("./tools/lockstep ");
}

}  // namespace

std::vector<PageBlock> blocks_of(const std::string& page) {
  static const std::regex prints("prints( \\([^)]*\\))?:?$"), file_name("# ([a-z_0-9]+\\.[a-z]+)");
  std::vector<PageBlock> blocks;
  for (const auto& raw : raw_blocks(lines_of(page))) {
    if (raw.lines.empty()) continue;
    std::smatch match;
    if (calls_lockstep(raw.lines.front())) {
      PageBlock commands{PageBlock::Kind::commands, raw.line, "", {}};
      std::size_t i = 0;
      for (; i < raw.lines.size() && !raw.lines[i].empty(); ++i) {
        std::string line = without_comment(raw.lines[i]);
        while (line.ends_with('\\') && i + 1 < raw.lines.size())
          line = line.substr(0, line.size() - 1) + without_comment(raw.lines[++i]);
        if (line.starts_with("./tools/lockstep ")) line = line.substr(8);
        commands.lines.push_back(line);
      }
      blocks.push_back(std::move(commands));
      if (i < raw.lines.size()) {
        blocks.push_back({PageBlock::Kind::output,
                          raw.line + static_cast<int>(i) + 1,
                          "",
                          {raw.lines.begin() + static_cast<std::ptrdiff_t>(i) + 1, raw.lines.end()}});
      }
    } else if (std::regex_search(raw.before, prints)) {
      blocks.push_back({PageBlock::Kind::output, raw.line, "", raw.lines});
    } else if (std::regex_match(raw.lines.front(), match, file_name)) {
      blocks.push_back({PageBlock::Kind::file, raw.line, match[1], raw.lines});
    }
  }
  return blocks;
}

}  // namespace lockstep::test
