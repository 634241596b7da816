// The matrix of nvidia-smi topo -m: how each pair of GPUs and NICs is joined.
#include <algorithm>
#include <map>

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

/// Columns of the head: GPUs and NICs up to the first other word, since "GPU NUMA ID" is no GPU.
std::vector<std::string_view> devices_of(std::string_view line) {
  auto words = words_of(line);
  const auto end = std::find_if(words.begin(), words.end(), [](std::string_view word) {
    return !is_numbered(word, "GPU") && !is_numbered(word, "NIC") && !is_numbered(word, "mlx5_") &&
           !is_numbered(word, "mlx4_") && !word.starts_with("bnxt_");
  });
  words.erase(end, words.end());
  return words;
}

/// The head names a device in its second word too, or begins with the space above the names of the rows.
bool is_head(std::string_view line) {
  const auto devices = devices_of(line);
  if (devices.empty() || devices.front() != "GPU0") return false;
  return devices.size() > 1 || line.starts_with(' ') || line.starts_with('\t');
}

bool recognises(std::string_view head) { return any_line(plain(head), is_head); }

class MatrixReader {
 public:
  MatrixReader(const std::string& file, Problems& problems) : file_(file), problems_(problems) {}

  void read_line(std::string_view line, int number) {
    const auto words = words_of(line);
    if (words.empty()) return;
    if (columns_.empty()) {
      if (is_head(line)) start(line);
      return;
    }
    if (words.size() == 2 && words.front().ends_with(':')) {  // NIC0: mlx5_0
      legend_.emplace(words.front().substr(0, words.front().size() - 1), words.back());
      return;
    }
    if (is_numbered(words.front(), "GPU")) read_row(words, number);  // rows of NICs repeat the columns
  }

  NodeDescription finish() {
    if (rows_.size() != gpus()) {
      problems_.add({{file_, 0, 0},
                     "",
                     "has " + std::to_string(rows_.size()) + " rows of GPUs",
                     std::to_string(gpus()) + ", as the head; the file may be cut off"});
      return {};
    }
    for (const std::string& column : columns_) {
      if (is_numbered(column, "GPU")) continue;
      const auto named = legend_.find(column);
      node_.nics.push_back({named == legend_.end() ? column : named->second, std::nullopt});
    }
    choose_nearest_nics(node_, distances_);
    if (node_.nics.empty()) node_.notes.emplace_back("The matrix has no NIC.");
    node_.notes.emplace_back("The matrix says neither the kind of the GPUs nor how fast the NICs are.");
    return std::move(node_);
  }

 private:
  void start(std::string_view line) {
    for (const auto word : devices_of(line)) columns_.emplace_back(word);
    if (columns_.size() > most_devices_of_a_node) columns_.resize(most_devices_of_a_node);
  }

  [[nodiscard]] std::size_t gpus() const {
    return static_cast<std::size_t>(
        std::count_if(columns_.begin(), columns_.end(), [](const auto& column) { return is_numbered(column, "GPU"); }));
  }

  void problem(int line, const std::string& row, const std::string& what, const std::string& expected) {
    problems_.add({{file_, line, 1}, row, what, expected});
  }

  void read_row(const std::vector<std::string_view>& words, int line) {
    const std::string row(words.front());
    if (rows_.size() >= gpus() || row != columns_[rows_.size()])
      return problem(line, row, "is not the next row", "the GPUs in the order of the head, each once");
    rows_.push_back(row);
    NodeGpu gpu;
    gpu.name = row;
    auto& distances = distances_.emplace_back();
    auto& to_gpus = node_.between_gpus.emplace_back();
    if (words.size() < columns_.size() + 1)
      return problem(line, row, "has " + std::to_string(words.size() - 1) + " entries",
                     std::to_string(columns_.size()) + " or more, as the head; the file may be cut off");
    int sum = 0, most = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string_view word = words[i + 1];
      if (!is_numbered(columns_[i], "GPU")) {
        distances.push_back(distance_of(word, line, row));
      } else if (is_numbered(word, "NV") && word.size() <= 5) {
        const int links = std::stoi(std::string(word.substr(2)));
        sum += links;
        most = std::max(most, links);
        node_.link_kind = "NVLink";
        to_gpus.push_back(PcieDistance::sys);
      } else {
        to_gpus.push_back(word == "X" ? PcieDistance::pix : distance_of(word, line, row));
      }
    }
    // Links to several GPUs are different ones unless a GPU would then have more than there are: a switch joins them.
    gpu.links = sum > most_links ? most : sum;
    node_.gpus.push_back(std::move(gpu));
  }

  PcieDistance distance_of(std::string_view word, int line, const std::string& row) {
    for (const auto distance :
         {PcieDistance::pix, PcieDistance::pxb, PcieDistance::phb, PcieDistance::node, PcieDistance::sys}) {
      if (word == name(distance)) return distance;
    }
    problem(line, row, "'" + std::string(word) + "' is no connection",
            "X, SYS, NODE, PHB, PXB, PIX or NV and a number");
    return PcieDistance::sys;
  }

  const std::string& file_;
  Problems& problems_;
  NodeDescription node_;
  std::vector<std::string> columns_, rows_;
  std::vector<std::vector<PcieDistance>> distances_;  ///< of each GPU to the NICs
  std::map<std::string, std::string, std::less<>> legend_;
};

NodeDescription read(std::string_view text, const std::string& file, Problems& problems) {
  MatrixReader reader(file, problems);
  const std::string without_escapes = plain(text);
  for_each_line(without_escapes, [&](std::string_view line, int number) {
    reader.read_line(line, number);
    return problems.size() < most_devices_of_a_node;
  });
  return problems.empty() ? reader.finish() : NodeDescription{};
}

}  // namespace

extern const NodeFormat nvidia_smi_format;
const NodeFormat nvidia_smi_format{"nvidia-smi topo -m", recognises, read};

}  // namespace lockstep::topologies
