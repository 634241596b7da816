// Slurm's topology.conf: lines of SwitchName= with Switches= or Nodes=, or of BlockName= with Nodes=.
#include <algorithm>

#include "topologies/graph/network_format_private.hpp"
#include "topologies/graph/network_text_private.hpp"
#include "topologies/graph/slurm_private.hpp"

namespace lockstep::topologies {
namespace {

std::string lower(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return small;
}

bool is_list_of_numbers(std::string_view text) {
  LineScan scan(text, 0);
  do {
    if (!scan.number()) return false;
  } while (scan.take(","));
  return scan.at_end();
}

bool recognises(std::string_view head) {
  return any_line(head, [](std::string_view line) {
    const std::string key = lower(line.substr(0, line.find('=')));
    return line.find('=') != std::string_view::npos &&
           (key == "switchname" || key == "blockname" || key == "blocksizes");
  });
}

class ConfReader {
 public:
  explicit ConfReader(NetworkBuilder& builder) : builder_(builder) {}

  void read_line(std::string_view line, int number) {
    line = line.substr(0, line.find('#'));
    if (line.find('=') == std::string_view::npos) {
      LineScan words(line, number);
      if (words.skip_space(); !words.at_end()) strangers_.add(words.place());
      return;
    }
    LineScan scan(line, number);
    SlurmSwitch one;
    bool is_block = false, is_empty = true;
    for (scan.skip_space(); !scan.at_end(); scan.skip_space()) {
      is_empty = false;
      const TextPlace place = scan.place();
      const std::string key(scan.take_until("= \t"));
      if (!scan.take("="))
        return builder_.problem(place, "", "'" + key + "' has no value", "a line such as SwitchName=s1 Nodes=n[1-64]");
      const std::string_view value = scan.take_until(" \t");
      const std::string what = lower(key);
      if (what == "switchname" || what == "blockname") {
        one.name = value;
        one.place = place;
        is_block = what == "blockname";
      } else if (what == "nodes") {
        one.hosts = slurm_names(value, place, key, builder_);
      } else if (what == "switches") {
        one.switches = slurm_names(value, place, key, builder_);
      } else if (what == "blocksizes") {
        sizes_ = value;
        if (!is_list_of_numbers(value))
          return builder_.problem(place, key, "'" + sizes_ + "' is no list of sizes", "numbers such as 4,8");
        if (one.name.empty()) return;
      } else if (what != "linkspeed") {  // which Slurm ignores too
        return builder_.problem(place, key, "is no key of topology.conf",
                                "SwitchName, Switches, Nodes, LinkSpeed, BlockName or BlockSizes");
      }
    }
    if (is_empty) return;
    if (one.name.empty()) return builder_.problem({number, 1}, "", "has no name", "SwitchName= or BlockName=");
    (is_block ? blocks_ : switches_).push_back(std::move(one));
  }

  void finish(std::string_view text) {
    strangers_.tell("is no line of topology.conf", "a line such as SwitchName=s1 Nodes=n[1-64]", builder_);
    check_slurm_end(text, blocks_.empty() ? switches_ : blocks_, builder_);
    if (!builder_.problems().empty()) return;
    if (!switches_.empty() && !blocks_.empty())
      return builder_.problem(blocks_.front().place, "BlockName", "stands beside SwitchName", "a tree or blocks");
    if (!sizes_.empty()) builder_.note("Blocks are scheduled in sizes of " + sizes_ + " nodes.");
    if (!blocks_.empty())
      add_slurm_blocks(std::move(blocks_), builder_);
    else
      add_slurm_tree(switches_, builder_);
  }

 private:
  NetworkBuilder& builder_;
  std::vector<SlurmSwitch> switches_, blocks_;
  std::string sizes_;
  StrangeLines strangers_;
};

void read(std::string_view text, NetworkBuilder& builder) {
  ConfReader reader(builder);
  std::string joined;  // lines that go on after a backslash
  int first = 0;
  for_each_line(text, [&](std::string_view line, int number) {
    if (joined.empty()) first = number;
    const bool goes_on = line.ends_with('\\');
    joined += goes_on ? line.substr(0, line.size() - 1) : line;
    if (goes_on) return true;
    reader.read_line(joined, first);
    joined.clear();
    return !builder.gives_up();
  });
  if (!joined.empty()) reader.read_line(joined, first);
  reader.finish(text);
}

}  // namespace

extern const NetworkFormat slurm_conf_format;
const NetworkFormat slurm_conf_format{"Slurm topology.conf", recognises, read};

}  // namespace lockstep::topologies
