#include "sim/core/csv_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <utility>

#include "sim/core/readable_file.hpp"

namespace lockstep {
namespace {

constexpr std::uintmax_t largest_file = std::uintmax_t{64} << 20;
constexpr std::size_t longest_loose_cell = 200;

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// "1,024.0 (default)" as "1024", words for nothing as "".
std::string plain_number(const std::string& cell) {
  static const std::regex number(R"(((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s*(?:[(\[].*)?)"),
      nothing(R"(n\.?/?a\.?|nan|none|null|-+|\?|unknown)", std::regex::icase), whole(R"(\.0*$)");
  std::smatch match;
  if (cell.size() > longest_loose_cell) return cell;
  if (std::regex_match(cell, nothing)) return "";
  if (!std::regex_match(cell, match, number)) return cell;
  auto text = match[1].str();
  text.erase(std::remove(text.begin(), text.end(), ','), text.end());
  return std::regex_replace(text, whole, "");
}

/// All lines as cells; an empty line has none.
class CellReader {
 public:
  CellReader(std::string_view text, std::string_view name, Problems& problems)
      : text_(text), name_(name), problems_(problems) {}

  std::vector<std::vector<CsvCell>> read() {
    std::vector<std::vector<CsvCell>> lines;
    while (at_ < text_.size()) {
      std::vector<CsvCell> cells;
      do cells.push_back(cell());
      while (take(','));
      (void)take('\r');
      (void)take('\n');
      if (quote_is_open_) break;  // told; what the quote has swallowed is no row
      if (cells.size() > 1 || !cells.front().text.empty()) lines.push_back(std::move(cells));
    }
    return lines;
  }

 private:
  CsvCell cell() {
    CsvCell made{"", {name_, line_, column_}};
    if (take('"')) {
      while (true) {
        if (at_ == text_.size()) {
          problems_.add({made.where, "", "a quote is open", "a closing quote"});
          quote_is_open_ = true;
          break;
        }
        if (take('"')) {
          if (!take('"')) break;
          made.text += '"';
        } else {
          made.text += next();
        }
      }
    }
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n' && text_[at_] != '\r') made.text += next();
    made.text = trimmed(made.text);
    return made;
  }

  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    (void)next();
    return true;
  }

  char next() {
    const char c = text_[at_++];
    const bool continues = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;  // of a character in UTF-8
    if (c == '\n') {
      ++line_;
      column_ = 1;
    } else if (!continues) {
      ++column_;
    }
    return c;
  }

  std::string_view text_;
  std::string name_;
  Problems& problems_;
  std::size_t at_ = 0;
  int line_ = 1, column_ = 1;
  bool quote_is_open_ = false;
};

}  // namespace

CsvTable::CsvTable(std::string_view text, std::string_view name, Problems& problems)
    : problems_(problems), name_(name) {
  read(text, name);
}

CsvTable::CsvTable(const std::filesystem::path& file, Problems& problems) : problems_(problems), name_(file.string()) {
  std::error_code error;
  if (const auto why = why_unreadable(file); !why.empty()) {
    problems.add({{name_, 0, 0}, "", why, "a CSV file"});
  } else if (std::filesystem::file_size(file, error) > largest_file) {
    problems.add({{name_, 0, 0}, "", "is larger than 64 MiB", "a CSV file"});
  } else {
    std::ifstream in(file, std::ios::binary);
    read(std::string(std::istreambuf_iterator<char>(in), {}), name_);
  }
}

void CsvTable::read(std::string_view text, std::string_view name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const auto before = problems_.size();
  auto lines = CellReader(text, name, problems_).read();
  if (lines.empty() && problems_.size() > before) return;  // told already
  if (lines.empty()) return problems_.add({{name_, 0, 0}, "", "is empty", "a header with the names of the columns"});
  header_ = std::move(lines.front());
  for (std::size_t i = 0; i < header_.size(); ++i) columns_.emplace(header_[i].text, i);  // of twins the first
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].size() == header_.size()) {
      rows_.push_back(CsvRow(*this, problems_, std::move(lines[i])));
    } else {
      problems_.add({lines[i].front().where, "", "has " + std::to_string(lines[i].size()) + " cells",
                     std::to_string(header_.size()) + ", as the header"});
    }
  }
  refuse_unequal_twins();
}

void CsvTable::refuse_unequal_twins() {
  for (std::size_t i = 0; i < header_.size(); ++i) {
    const auto first = columns_.find(header_[i].text)->second;
    const bool equal = std::all_of(rows_.begin(), rows_.end(),
                                   [&](const CsvRow& row) { return row.cells_[i].text == row.cells_[first].text; });
    if (!equal)
      problems_.add(
          {header_[i].where, header_[i].text, "the column appears twice, with other cells", "each column once"});
  }
}

void CsvTable::problem(std::string_view column, std::string what, std::string expected) const {
  const auto found = columns_.find(column);
  const Location where = found == columns_.end() ? Location{name_, 1, 1} : header_[found->second].where;
  problems_.add({where, std::string(column), std::move(what), std::move(expected)});
}

bool CsvTable::require(const std::vector<std::string>& columns) const {
  if (header_.empty()) return false;  // told already
  bool all = true;
  for (const auto& column : columns) {
    if (has(column)) continue;
    all = false;
    problem(column, "the column is missing", "a column of this name");
  }
  return all;
}

std::string CsvRow::text(std::string_view column) const {
  const auto found = table_->columns_.find(column);
  return found == table_->columns_.end() ? "" : cells_[found->second].text;
}

Location CsvRow::where(std::string_view column) const {
  const auto found = table_->columns_.find(column);
  return found == table_->columns_.end() ? where() : cells_[found->second].where;
}

std::string CsvRow::number_text(std::string_view column) const {
  return loose_ ? plain_number(text(column)) : text(column);
}

std::int64_t CsvRow::integer(std::string_view column, std::optional<std::int64_t> fallback) const {
  const auto cell = number_text(column);
  if (cell.empty() && fallback) return *fallback;
  const bool digits = !cell.empty() && cell.size() <= 15 && cell.find_first_not_of("0123456789") == std::string::npos;
  const std::int64_t value = digits ? std::stoll(cell) : 0;
  if (value >= 1) return value;
  const auto written = text(column);
  problem(column, written.empty() ? "is empty" : "'" + written + "' is not a count", "an integer of at least 1");
  return 1;
}

std::optional<double> CsvRow::number(std::string_view column) const {
  const auto cell = number_text(column);
  if (cell.empty()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(cell.c_str(), &end);
  const bool plain = cell.find_first_not_of("0123456789.eE+-") == std::string::npos;
  if (plain && *end == '\0' && std::isfinite(value) && value > 0) return value;
  problem(column, "'" + cell + "' is not a number above 0", "a plain number without a unit");
  return std::nullopt;
}

void CsvRow::problem(std::string_view column, std::string what, std::string expected) const {
  sink_->add({where(column), std::string(column), std::move(what), std::move(expected)});
}

CsvRow CsvRow::read_loosely(Problems& sink) const {
  auto row = *this;
  row.sink_ = &sink;
  row.loose_ = true;
  return row;
}

}  // namespace lockstep
