// The matrix of nvidia-smi topo -m: how each pair of GPUs and NICs is joined.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "topologies/graph/name_numbers_private.hpp"
#include "topologies/graph/network_text_private.hpp"
#include "topologies/graph/node_format_private.hpp"

namespace lockstep::topologies {
namespace {

constexpr int most_links = 18;  // that a GPU has: the NVLinks of an H100 or B200

bool is_numbered(std::string_view word, std::string_view what) {
  return word.size() > what.size() && word.starts_with(what) &&
         std::all_of(word.begin() + static_cast<std::ptrdiff_t>(what.size()), word.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

/// The text without the escapes that underline its head.
std::string plain(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\x1b') {
      result += text[at];
      continue;
    }
    while (at + 1 < text.size() && text[at] != 'm') ++at;
  }
  return result;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (LineScan scan(line, 0); !scan.rest().empty();) {
    if (const auto word = scan.word(); !word.empty()) words.push_back(word);
  }
  return words;
}

/// Columns of the head: GPUs and NICs, whose names end in a digit, up to the first other word, since "GPU NUMA ID" is
/// no GPU.
std::vector<std::string_view> devices_of(std::string_view line) {
  auto words = words_of(line);
  words.erase(std::find_if(words.begin(), words.end(),
                           [](std::string_view word) { return word.back() < '0' || word.back() > '9'; }),
              words.end());
  return words;
}

/// The head names a device in its second word too, or begins with the space above the names of the rows.
bool is_head(std::string_view line) {
  const auto devices = devices_of(line);
  if (devices.empty() || devices.front() != "GPU0") return false;
  const bool is_matrix = devices.size() > 1 && (is_numbered(devices[1], "GPU") || is_numbered(devices[1], "NIC") ||
                                                devices[1].find('_') != std::string_view::npos);
  return is_matrix || line.starts_with(' ') || line.starts_with('\t');
}

bool recognises(std::string_view head) { return any_line(plain(head), is_head); }

/// Reads the head, a row for each of its columns, and the legend of the NICs. A row that is not the next one ends the
/// reading, since every row after it would be wrong for the same reason.
class MatrixReader {
 public:
  MatrixReader(const std::string& file, Problems& problems) : file_(file), problems_(problems) {}

  /// False where nothing more is to be read.
  bool read_line(std::string_view line, int number) {
    const auto words = words_of(line);
    if (words.empty()) return true;
    line_ = number;
    if (columns_.empty()) return !is_head(line) || read_head(line);
    if (rows_.size() < columns_.size()) return read_row(words);
    if (words.size() == 2 && words.front().ends_with(':')) {  // NIC0: mlx5_0
      last_named_ = words.front().substr(0, words.front().size() - 1);
      legend_.emplace(last_named_, words.back());
    }
    return true;
  }

  NodeDescription finish(bool last_line_ends) {
    check_whole();
    if (problems_.empty() && !last_line_ends) check_last_name();
    if (problems_.empty()) check_both_ways();
    if (!problems_.empty()) return {};
    std::vector<std::vector<PcieDistance>> distances;
    for (std::size_t row = 0; row < columns_.size(); ++row) {
      if (is_gpu(row))
        distances.push_back(add_gpu(row));
      else
        node_.nics.push_back({needs_legend(row) ? legend_.find(columns_[row])->second : columns_[row], std::nullopt});
    }
    choose_nearest_nics(node_, distances);
    if (node_.nics.empty()) node_.notes.emplace_back("The matrix has no NIC.");
    node_.notes.emplace_back("The matrix says neither the kind of the GPUs nor how fast the NICs are.");
    return std::move(node_);
  }

 private:
  struct Row {
    int line = 0;
    std::vector<std::string_view> cells;  ///< one for each column
  };

  bool problem(int line, const std::string& row, const std::string& what, const std::string& expected) {
    problems_.add({{file_, line, 1}, row, what, expected});
    return false;
  }

  [[nodiscard]] bool is_gpu(std::size_t column) const { return is_numbered(columns_[column], "GPU"); }
  [[nodiscard]] bool needs_legend(std::size_t column) const { return is_numbered(columns_[column], "NIC"); }

  bool read_head(std::string_view line) {
    std::set<std::string_view> seen;
    for (const auto word : devices_of(line)) {
      if (!seen.insert(word).second)
        return problem(line_, "", "the head names " + std::string(word) + " twice", "each GPU and NIC once");
      if (seen.size() > most_devices_of_a_node)
        return problem(line_, "", "the head has too many columns",
                       "at most " + std::to_string(most_devices_of_a_node) + " GPUs and NICs");
      columns_.emplace_back(word);
    }
    return true;
  }

  bool read_row(const std::vector<std::string_view>& words) {
    const std::string& row = columns_[rows_.size()];
    if (words.front() != row && !problems_.empty()) return false;  // often a consequence of what was said
    if (words.front() != row)
      return problem(line_, "", "'" + std::string(words.front()) + "' stands where the row of " + row + " belongs",
                     "a row for each column of the head, in the same order");
    Row& made = rows_.emplace_back();
    made.line = line_;
    if (words.size() < columns_.size() + 1) {
      problem(line_, row, "has " + std::to_string(words.size() - 1) + " entries",
              std::to_string(columns_.size()) + " or more, as the head; the file may be cut off");
      return true;
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string_view cell = made.cells.emplace_back(words[i + 1]);
      const bool between_gpus = is_gpu(i) && is_gpu(rows_.size() - 1);
      const bool is_known =
          columns_[i] == row ? cell == "X" : (between_gpus && links_of(cell)) || distance_of(cell).has_value();
      if (!is_known)
        problem(line_, row, "'" + std::string(cell) + "' is no connection to " + columns_[i],
                columns_[i] == row
                    ? "X, for itself"
                    : std::string("SYS, NODE, PHB, PXB, PIX") + (between_gpus ? ", or NV and a number" : ""));
    }
    return true;
  }

  void check_whole() {
    if (!problems_.empty()) return;
    if (rows_.size() < columns_.size()) {
      problem(
          line_, "", "the matrix ends before the row of " + columns_[rows_.size()],
          "a row for each of the " + std::to_string(columns_.size()) + " columns of the head; the file may be cut off");
      return;
    }
    std::vector<std::string> unnamed;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (needs_legend(i) && !legend_.contains(columns_[i])) unnamed.push_back(columns_[i]);
    }
    if (!unnamed.empty())
      problem(line_, "", "the NIC legend does not name " + some_of(unnamed),
              "lines such as NIC0: mlx5_0 below the matrix; the file may be cut off");
  }

  /// Of a text that ends in the middle of a line: "mlx5" where mlx5_3 was cut off.
  void check_last_name() {
    const auto has_shape_of_last = [&](const auto& entry) {
      return entry.first != last_named_ && shape_of(entry.second) == shape_of(legend_.find(last_named_)->second);
    };
    if (legend_.size() < 2 || std::any_of(legend_.begin(), legend_.end(), has_shape_of_last)) return;
    problem(line_, last_named_, "the file ends in its name, without the end of a line",
            "a line's end after the last name; the file may be cut off");
  }

  /// Two devices are joined in the same way seen from either; an entry that was cut off is found here.
  void check_both_ways() {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      for (std::size_t column = 0; column < row; ++column) {
        const std::string_view one = rows_[row].cells[column], other = rows_[column].cells[row];
        if (one == other || problems_.size() >= most_devices_of_a_node) continue;
        problem(rows_[row].line, columns_[row],
                "has " + std::string(one) + " to " + columns_[column] + ", which has " + std::string(other) +
                    " to it in line " + std::to_string(rows_[column].line),
                "the same in both rows");
      }
    }
  }

  /// Adds the GPU of a row; its distances to the NICs.
  std::vector<PcieDistance> add_gpu(std::size_t row) {
    NodeGpu gpu;
    gpu.name = columns_[row];
    std::vector<PcieDistance> to_nics;
    auto& to_gpus = node_.between_gpus.emplace_back();
    int sum = 0, most = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string_view cell = rows_[row].cells[i];
      const auto distance = distance_of(cell);
      const int links = links_of(cell).value_or(0);
      sum += links;
      most = std::max(most, links);
      if (links > 0) node_.link_kind = "NVLink";
      (is_gpu(i) ? to_gpus : to_nics).push_back(i == row ? PcieDistance::pix : distance.value_or(PcieDistance::sys));
    }
    // Links to several GPUs are different ones unless a GPU would then have more than there are: a switch joins them.
    gpu.links = sum > most_links ? most : sum;
    node_.gpus.push_back(std::move(gpu));
    return to_nics;
  }

  static std::optional<PcieDistance> distance_of(std::string_view cell) {
    for (const auto distance :
         {PcieDistance::pix, PcieDistance::pxb, PcieDistance::phb, PcieDistance::node, PcieDistance::sys}) {
      if (cell == name(distance)) return distance;
    }
    return std::nullopt;
  }

  /// 18 of "NV18".
  static std::optional<int> links_of(std::string_view cell) {
    if (!is_numbered(cell, "NV") || cell.size() > 5) return std::nullopt;
    return LineScan(cell.substr(2), 0).number();
  }

  const std::string& file_;
  Problems& problems_;
  NodeDescription node_;
  std::vector<std::string> columns_;
  std::vector<Row> rows_;
  std::map<std::string, std::string, std::less<>> legend_;  ///< names of NICs
  std::string last_named_;
  int line_ = 0;
};

NodeDescription read(std::string_view text, const std::string& file, Problems& problems) {
  MatrixReader reader(file, problems);
  const std::string without_escapes = plain(text);
  for_each_line(without_escapes, [&](std::string_view line, int number) {
    return reader.read_line(line, number) && problems.size() < most_devices_of_a_node;
  });
  return reader.finish(text.ends_with('\n'));
}

}  // namespace

extern const NodeFormat nvidia_smi_format;
const NodeFormat nvidia_smi_format{"nvidia-smi topo -m", {"NVIDIA"}, recognises, read};

}  // namespace lockstep::topologies
