#include <algorithm>
#include <array>

#include "topologies/graph/ibnetdiscover_private.hpp"
#include "topologies/graph/network_text_private.hpp"

namespace lockstep::topologies {
namespace {

constexpr const char* a_port_line = "a line such as [1] \"S-0002c902400f1e2c\"[5] # \"leaf1\" lid 4 4xNDR";

/// "4xNDR": digits, an x, letters.
bool looks_like_speed(std::string_view word) {
  const std::size_t x = word.find('x');
  if (x == std::string_view::npos || x == 0 || x + 1 == word.size()) return false;
  const auto digits = word.substr(0, x);
  return std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The last word of a line, if it has the form of a speed.
std::string_view speed_at_end(std::string_view line) {
  const std::size_t space = line.find_last_of(" \t\"");
  const std::string_view word = space == std::string_view::npos ? "" : line.substr(space + 1);
  return looks_like_speed(word) ? word : "";
}

bool is_remark(std::string_view line) {
  constexpr std::array keys{"vendid=", "devid=", "switchguid=", "caguid=", "rtguid=", "DR path", "Chassis", "module"};
  return line.empty() || line.front() == '#' ||
         std::any_of(keys.begin(), keys.end(), [&](const char* key) { return line.starts_with(key); });
}

class DumpReader {
 public:
  DumpReader(std::string_view text, NetworkBuilder& builder) : text_(text), builder_(builder) {}

  IbDump read() {
    for_each_line(text_, [&](std::string_view line, int number) {
      read_line(line, number);
      if (!text_.ends_with('\n')) dump_.cut_line = number;
      return !builder_.gives_up();
    });
    strangers_.tell("is no line of a dump", "what ibnetdiscover prints", builder_);
    return std::move(dump_);
  }

 private:
  void read_line(std::string_view line, int number) {
    LineScan scan(line, number);
    if (line.starts_with('[')) return read_port(scan);
    if (scan.take("sysimgguid=")) {
      system_guid_ = scan.rest();
    } else if (!is_remark(line)) {
      read_header(scan);
    }
  }

  void refuse(const LineScan& scan, const std::string& what, const std::string& expected = a_port_line) {
    builder_.problem(scan.place(), "", what, expected);
  }

  /// Switch 65 "S-..." # "description" enhanced port 0 lid 65 lmc 0
  void read_header(LineScan& scan) {
    const TextPlace place = scan.place();
    const std::string_view kind = scan.word();
    const bool is_adapter = kind == "Ca" || kind == "Hca";
    if (!is_adapter && kind != "Switch" && kind != "Rt") {
      if (kind == "SW" || kind == "CA")
        return builder_.problem(place, "", "is the output of ibnetdiscover -p", "that of ibnetdiscover without -p");
      return strangers_.add(place);
    }
    scan.skip_space();
    const auto ports = scan.number();
    scan.skip_space();
    const auto id = scan.enclosed('"', '"');
    if (!ports || !id || id->empty())
      return refuse(scan, "the head of a record is cut off",
                    "a line such as Switch 65 \"S-0002c902400f1e2c\" # \"leaf1\"");
    IbRecord record;
    record.is_switch = !is_adapter;
    record.id = *id;
    record.place = place;
    record.system_guid = std::exchange(system_guid_, "");
    const std::string_view rest = scan.rest();  // the description may itself hold " # " and quotes
    const std::size_t open = rest.find('"'), close = rest.rfind('"');
    if (open != std::string_view::npos && open < close) record.description = rest.substr(open + 1, close - open - 1);
    record.aggregates = is_adapter && record.description.find("Aggregation Node") != std::string_view::npos;
    if (!dump_.by_id.emplace(record.id, dump_.records.size()).second)
      return builder_.problem(place, "", "the record of '" + std::string(*id) + "' appears twice", "each record once");
    dump_.records.push_back(record);
  }

  /// [1] "H-..."[1](port GUID) # "description" lid 40 4xNDR; of an adapter [1](port GUID) "S-..."[1] # lid 40 ...
  void read_port(LineScan& scan) {
    IbPort port;
    port.place = scan.place();
    if (dump_.records.empty()) return refuse(scan, "a port stands before the first record", "the head of its record");
    const auto number = read_number(scan);
    while (scan.rest().starts_with('[') || scan.rest().starts_with('(')) {
      const bool square = scan.rest().starts_with('[');
      if (!scan.enclosed(square ? '[' : '(', square ? ']' : ')')) return refuse(scan, "the line is cut off");
    }
    scan.skip_space();
    const auto remote = scan.enclosed('"', '"');
    const auto remote_number = read_number(scan);
    if (!number || !remote || !remote_number) return refuse(scan, "the line of a port cannot be read");
    port.number = *number;
    port.remote = *remote;
    port.remote_port = *remote_number;
    port.speed = speed_at_end(scan.rest());
    dump_.records.back().ports.push_back(port);
  }

  static std::optional<int> read_number(LineScan& scan) {
    if (!scan.take("[")) return std::nullopt;
    const auto number = scan.number();
    return scan.take("]") ? number : std::nullopt;
  }

  std::string_view text_;
  NetworkBuilder& builder_;
  IbDump dump_;
  std::string_view system_guid_;
  StrangeLines strangers_;
};

}  // namespace

IbDump read_ib_dump(std::string_view text, NetworkBuilder& builder) {
  IbDump dump = DumpReader(text, builder).read();
  if (builder.problems().empty()) check_ib_dump(dump, builder);
  return dump;
}

}  // namespace lockstep::topologies
