// A CSV with a row for each pair that cables join: source,source_kind,target,target_kind,count,rate,latency,label.
#include <algorithm>
#include <set>

#include "sim/core/csv_table.hpp"
#include "topologies/graph/network_format_private.hpp"
#include "topologies/graph/network_text_private.hpp"
#include "topologies/graph/quantity_cell_private.hpp"

namespace lockstep::topologies {
namespace {

constexpr std::ptrdiff_t most_rows = 500'000;

bool recognises(std::string_view head) {
  const std::string_view first = head.substr(0, head.find('\n'));
  return first.find("source") != std::string_view::npos && first.find("target") != std::string_view::npos &&
         first.find(',') != std::string_view::npos && first.find('<') == std::string_view::npos;
}

class RowReader {
 public:
  explicit RowReader(NetworkBuilder& builder) : builder_(builder) {}

  void read(const CsvRow& row) {
    const auto from = end(row, "source", "source_kind"), to = end(row, "target", "target_kind");
    const auto place = [&](const char* column) { return TextPlace{row.where(column).line, row.where(column).column}; };
    Cable like;
    like.rate = read_rate(row.text("rate"), place("rate"), "rate", builder_);
    like.latency = read_latency(row.text("latency"), place("latency"), "latency", builder_);
    like.label = row.text("label");
    const int count = read_cable_count(row.text("count"), place("count"), builder_);
    if (from && to) connect_with_adapters(*from, *to, count, like, place("source"), builder_);
  }

 private:
  std::optional<CableEnd> end(const CsvRow& row, const char* column, const char* kind_column) {
    const std::string name = row.text(column), kind = row.text(kind_column);
    const TextPlace place{row.where(column).line, row.where(column).column};
    if (kind != "host" && kind != "switch") {
      const Location where = row.where(kind_column);
      builder_.problem({where.line, where.column}, kind_column, "'" + kind + "' is no kind", "host or switch");
      return std::nullopt;
    }
    const auto known = builder_.find(name);
    if (!known) {
      if (kind == "host") {
        const auto id = builder_.add_host(name, place);
        return id ? std::optional<CableEnd>(AdapterEnd{*id, 0}) : std::nullopt;
      }
      const auto id = builder_.add_switch(name, place);
      return id ? std::optional<CableEnd>(SwitchEnd{*id}) : std::nullopt;
    }
    if (std::holds_alternative<AdapterEnd>(*known) == (kind == "host")) return known;
    builder_.problem(place, column, "'" + name + "' is a host in one row and a switch in another", "one kind");
    return std::nullopt;
  }

  NetworkBuilder& builder_;
};

void read(std::string_view text, NetworkBuilder& builder) {
  if (std::count(text.begin(), text.end(), '\n') > most_rows)
    return builder.problem({}, "", "has too many rows", "at most " + std::to_string(most_rows));
  const CsvTable table(text, builder.file(), builder.problems());
  if (!table.require({"source", "source_kind", "target", "target_kind"})) return;
  const std::set<std::string, std::less<>> columns{"source", "source_kind", "target",  "target_kind",
                                                   "count",  "rate",        "latency", "label"};
  for (const CsvCell& cell : table.header()) {
    if (!columns.contains(cell.text))
      table.problem(cell.text, "is no column of an edge list", "count, rate, latency or label");
  }
  RowReader reader(builder);
  for (const CsvRow& row : table.rows()) {
    if (builder.gives_up()) return;
    reader.read(row);
  }
  if (!table.has("rate")) builder.note("The file does not say how fast the cables are.");
}

}  // namespace

extern const NetworkFormat edge_list_format;
const NetworkFormat edge_list_format{"edge list in CSV", recognises, read};

}  // namespace lockstep::topologies
