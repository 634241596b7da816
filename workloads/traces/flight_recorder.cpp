// PyTorch's flight recorder: {"pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}}, "entries":
// [{"profiling_name": "nccl:all_reduce", "process_group": ["0", "default_pg"], "input_sizes": [[4, 8]], ...}]}.
#include <algorithm>

#include "workloads/traces/collective_log_private.hpp"
#include "workloads/traces/json_lists_private.hpp"

namespace lockstep::workloads {
namespace {

constexpr std::size_t most_entries = 20'000'000;

bool recognises(std::string_view head) {
  return head.find("\"pg_config\"") != std::string_view::npos ||
         head.find("\"profiling_name\"") != std::string_view::npos;
}

/// The texts of a list such as ["0", "default_pg"].
std::vector<std::string> texts_in(std::string_view list) {
  std::vector<std::string> texts;
  for (std::size_t at = list.find('"'); at != std::string_view::npos;) {
    const auto end = list.find('"', at + 1);
    if (end == std::string_view::npos) break;
    texts.emplace_back(list.substr(at + 1, end - at - 1));
    at = list.find('"', end + 1);
  }
  return texts;
}

class Reading {
 public:
  Reading(TraceText& text, JobWriter& writer) : text_(text), writer_(writer), log_(writer) {}

  void run() {
    read_json_lists(
        text_, {{"entries"},
                [&](std::string_view /*list*/, const JsonFields& entry, const Location& where) { take(entry, where); },
                [&](const JsonFields& rest) { take_groups(rest); }});
    auto& groups = writer_.job().groups;
    for (auto& group : groups) {  // the list of groups may stand behind the entries
      const auto told = ranks_.find(group.name);
      if (!group.ranks.empty() || told == ranks_.end()) continue;
      group.ranks = told->second;
      group.size = static_cast<std::int32_t>(group.ranks.size());
    }
    for (auto& collective : writer_.rank.collectives) find_rank(collective);
  }

 private:
  static std::string data_type(const JsonFields& entry, std::string_view key) {
    const auto* field = entry.find(key);
    if (field == nullptr) return "";
    if (field->kind == JsonFields::Kind::text) return field->text;
    const auto texts = texts_in(field->text);
    return texts.empty() ? "" : texts.front();
  }

  static std::optional<Bytes> bytes(const JsonFields& entry, const std::string& side) {
    const auto* sizes = entry.find(side + "_sizes");
    const auto element = bytes_of_type(data_type(entry, side + "_dtypes"));
    const auto elements = sizes == nullptr ? -1 : elements_in(sizes->text);
    if (!element || elements < 0) return std::nullopt;
    const auto product = bounded_product(elements, *element);
    return product ? std::optional(Bytes(*product)) : std::nullopt;
  }

  void take(const JsonFields& entry, const Location& where) {
    if (++entries_ > most_entries) text_.refuse("has too many entries", "at most 20 million");
    const auto name = entry.text("profiling_name");
    if (name.empty()) throw ConfigError({{where, "entries.profiling_name", "is missing", "a text"}});
    if (name.find("coalesced") != std::string_view::npos || name.find("COALESCED") != std::string_view::npos)
      return;  // its parts are entries of their own
    const auto milliseconds = entry.number("duration_ms");
    if (milliseconds && (*milliseconds < 0 || *milliseconds > 1e12))
      throw ConfigError({{where, "entries.duration_ms", "a negative or endless duration", "milliseconds from 0 up"}});
    RecordedCollective made;
    const auto word = collective_named(name);
    made.kind = word.kind;
    made.role = word.role;
    const auto* named = entry.find("process_group");
    const auto words = named == nullptr ? std::vector<std::string>() : texts_in(named->text);
    RecordedGroup group;
    if (!words.empty()) group.name = words.front();
    if (words.size() > 1) group.description = words[1];
    made.group = writer_.group(std::move(group));
    const auto in = bytes(entry, "input"), out = bytes(entry, "output");
    if (in || out) made.buffer = std::max(in.value_or(Bytes(0)), out.value_or(Bytes(0)));
    made.buffer_is_shard = made.kind == CollectiveKind::all_gather && !out;
    if (made.kind && !made.buffer && !word.barrier)
      writer_.missing("Of some collectives the trace does not tell the size; they keep their times.");
    if (made.kind == CollectiveKind::point_to_point) find_peer(name, made);
    log_.add(name, made, Seconds(milliseconds.value_or(0) * 1e-3));
  }

  /// "nccl:send 0->1" and "nccl:recv 0<-1" on rank 0: its own place in the group, then that of the other.
  static void find_peer(std::string_view name, RecordedCollective& made) {
    const auto arrow = std::min(name.find("->"), name.find("<-"));
    const auto other =
        arrow == std::string_view::npos ? std::vector<std::int64_t>() : integers_in(name.substr(arrow + 2));
    made.kind.reset();
    if (other.size() != 1 || other.front() < 0 || other.front() >= most_recorded_ranks) return;
    made.kind = CollectiveKind::point_to_point;
    made.peer = static_cast<std::int32_t>(other.front());
  }

  /// From the other's place in the group to its rank, once the groups are known; without them they are the same.
  void find_rank(RecordedCollective& made) const {
    if (made.kind != CollectiveKind::point_to_point) return;
    const auto& ranks = writer_.job().groups[made.group].ranks;
    const bool placed = ranks.empty() || made.peer < std::ssize(ranks);
    if (placed && !ranks.empty()) made.peer = ranks[position_of(made.peer)];
    if (placed && made.peer != writer_.rank.rank) return;
    made.kind.reset();
    made.peer = -1;
    writer_.missing("Of some sends and receives the trace does not tell the other rank; they keep their times.");
  }

  void take_groups(const JsonFields& rest) {
    std::map<std::string, std::string> names;  // of "pg_config.KEY."
    for (const auto& field : rest.fields()) {
      if (field.key.starts_with("pg_config.") && field.key.ends_with(".name"))
        names[field.key.substr(0, field.key.size() - 4)] = field.text;
    }
    for (const auto& field : rest.fields()) {
      if (!field.key.starts_with("pg_config.") || !field.key.ends_with(".ranks")) continue;
      const auto ranks = as_ranks(integers_in(field.text));
      if (!ranks)
        throw ConfigError({{{text_.name(), 0, 0}, field.key, "is no list of ranks", "different numbers from 0 up"}});
      const auto name = names.find(field.key.substr(0, field.key.size() - 5));
      if (ranks && !ranks->empty() && name != names.end()) ranks_[name->second] = *ranks;
    }
  }

  TraceText& text_;
  JobWriter& writer_;
  CollectiveLog log_;
  std::map<std::string, std::vector<std::int32_t>> ranks_;
  std::size_t entries_ = 0;
};

void read(TraceText& text, JobWriter& writer) { Reading(text, writer).run(); }

}  // namespace

extern const TraceFormat flight_recorder_format;
const TraceFormat flight_recorder_format{"flight recorder", recognises, read, false};

}  // namespace lockstep::workloads
