#include "tools/trace/perfetto_trace.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "tools/trace/gzip_file.hpp"
#include "tools/trace/op_text.hpp"
#include "tools/trace/proto_text.hpp"

namespace lockstep::trace {
namespace {

using proto::append_bytes;
using proto::append_double;
using proto::append_fixed64;
using proto::append_number;

constexpr std::size_t enough_to_write = 1u << 16;

// Field numbers and constants of Perfetto's format; tests/data/perfetto_subset.proto says what they are.
enum TraceField : std::uint64_t { packet = 1 };
enum PacketField : std::uint64_t {
  clock_snapshot = 6,
  timestamp = 8,
  sequence_id = 10,
  track_event = 11,
  interned_data = 12,
  sequence_flags = 13,
  packet_defaults = 59,
  track_descriptor = 60
};
enum ClockField : std::uint64_t { snapshot_clocks = 1, clock_id = 1, clock_timestamp = 2, clock_is_incremental = 3 };
enum DefaultsField : std::uint64_t { default_event = 11, default_clock = 58 };
enum EventField : std::uint64_t {
  category_iids = 3,
  debug_annotations = 4,
  event_type = 9,
  name_iid = 10,
  track_uuid = 11,
  counter_value = 30,
  double_counter_value = 44,
  flow_ids = 47,
  terminating_flow_ids = 48
};
enum AnnotationField : std::uint64_t {
  annotation_name_iid = 1,
  int_value = 4,
  double_value = 5,
  string_value_iid = 17
};
enum TrackField : std::uint64_t {
  uuid = 1,
  track_name = 2,
  track_process = 3,
  parent_uuid = 5,
  track_counter = 8,
  child_ordering = 11,
  sibling_order_rank = 12,
  description = 14,
  process_ordering = 19
};
enum ProcessField : std::uint64_t { pid = 1, process_name = 6, process_labels = 8 };
enum CounterField : std::uint64_t { unit = 3, unit_name = 6 };
enum InternedField : std::uint64_t { interned_iid = 1, interned_text = 2 };

enum EventType : std::uint64_t { begin = 1, end = 2, instant = 3, counter = 4 };
constexpr std::uint64_t state_cleared = 1, needs_state = 2;  // sequence_flags
constexpr std::uint64_t boot_clock = 6, own_clock = 64;      // the trace's clock; the first that a sequence may define
constexpr std::uint64_t in_given_order = 3, processes_in_given_order = 1, unit_bytes = 3;

struct TextHash {
  using is_transparent = void;  // views are looked up without a copy
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

/// Strings that a sequence defines once and then calls by number. One numbering for the whole file, since a number must
/// not mean two things in it, though every sequence has to define what it uses.
class Strings {
 public:
  explicit Strings(std::uint64_t field) : field_(field) {}

  std::uint64_t number_of(std::string_view text) {
    if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
    const auto added = numbers_.emplace(text, texts_.size() + 1).first;
    texts_.push_back(&added->first);
    return added->second;
  }
  void forget() { defined_.assign(texts_.size(), false); }
  /// Appends the definition to InternedData unless this sequence has it.
  void define(std::uint64_t number, std::string& data) {
    if (defined_.size() < number) defined_.resize(texts_.size(), false);
    if (defined_[number - 1]) return;
    defined_[number - 1] = true;
    std::string entry;
    append_number(entry, interned_iid, number);
    append_bytes(entry, interned_text, *texts_[number - 1]);
    append_bytes(data, field_, entry);
  }

 private:
  std::uint64_t field_;  ///< of InternedData
  std::unordered_map<std::string, std::uint64_t, TextHash, std::equal_to<>>
      numbers_;  ///< looked up, never walked through
  std::vector<const std::string*> texts_;
  std::vector<bool> defined_;
};

/// Fields that many operations share, encoded once.
struct Phrase {
  std::string event;                                           ///< fields of TrackEvent
  std::vector<std::pair<std::size_t, std::uint64_t>> strings;  ///< kind and number
  std::uint64_t sequence = 0;                                  ///< the last that knows the strings
};

class PerfettoTrace {
 public:
  PerfettoTrace(output::NewFile& file, const Simulation& simulation, const TraceOptions& options)
      : file_(file),
        content_(simulation, options),
        step_time_(simulation.run.timeline.makespan()),
        text_(simulation),
        arrows_(simulation),
        flows_(options.flows) {}

  void write(const scenario::Scenario& scenario) {
    describe_root(scenario);
    for (std::size_t index = 0; index < content_.processes(); ++index) write_process(content_.process(index));
    write_links();
    file_.write(out_);
    file_.finish();
  }

 private:
  // ---- tracks ----------------------------------------------------------------------------------

  void describe_root(const scenario::Scenario& scenario) {
    std::string track;
    append_number(track, uuid, 0);
    append_bytes(track, description,
                 scenario.name + ": " + std::to_string(content_.processes()) + " of " +
                     std::to_string(content_.distinct_ranks()) + " distinct ranks shown");
    append_number(track, process_ordering, processes_in_given_order);
    add_descriptor(track);
  }

  /// Processes count from 1: viewers keep 0 for the idle task.
  std::uint64_t describe_process(const std::string& name, const std::string& label) {
    ++processes_;
    order_ = 0;
    std::string process, track;
    append_number(process, pid, processes_);
    append_bytes(process, process_name, name);
    if (!label.empty()) append_bytes(process, process_labels, label);
    append_number(track, uuid, ++tracks_);
    append_bytes(track, track_process, process);
    append_number(track, child_ordering, in_given_order);
    append_number(track, sibling_order_rank, processes_);
    add_descriptor(track);
    return tracks_;
  }

  /// A track below a process, after those before it. `counter`: the CounterDescriptor of one that counts.
  std::uint64_t describe_track(std::uint64_t process, const std::string& name, const std::string& counter = "") {
    std::string track;
    append_number(track, uuid, ++tracks_);
    append_bytes(track, track_name, name);
    append_number(track, parent_uuid, process);
    if (!counter.empty()) append_bytes(track, track_counter, counter);
    append_number(track, sibling_order_rank, ++order_);
    add_descriptor(track);
    return tracks_;
  }

  void add_descriptor(const std::string& track) {
    packet_.clear();
    append_number(packet_, sequence_id, descriptors);
    append_bytes(packet_, track_descriptor, track);
    add_packet();
  }

  // ---- sequences -------------------------------------------------------------------------------

  /// All that follows is on one track, with times that count from the event before and strings that are defined anew.
  void begin_sequence(std::uint64_t track) {
    ++sequence_;
    time_ = 0;
    for (auto& strings : strings_) strings.forget();
    std::string own, boot, clocks, event, defaults;
    append_number(own, clock_id, own_clock);
    append_number(own, clock_timestamp, 0);
    append_number(own, clock_is_incremental, 1);
    append_number(boot, clock_id, boot_clock);
    append_number(boot, clock_timestamp, 0);
    append_bytes(clocks, snapshot_clocks, own);
    append_bytes(clocks, snapshot_clocks, boot);
    append_number(event, track_uuid, track);
    append_bytes(defaults, default_event, event);
    append_number(defaults, default_clock, own_clock);
    packet_.clear();
    append_bytes(packet_, clock_snapshot, clocks);
    append_number(packet_, sequence_id, sequence_);
    append_number(packet_, sequence_flags, state_cleared);
    append_bytes(packet_, packet_defaults, defaults);
    add_packet();
  }

  /// One event of the present sequence, with the definitions that it needs.
  void add_event(std::int64_t time_ns, const std::string& event, const std::string& definitions = "") {
    packet_.clear();
    append_number(packet_, timestamp, static_cast<std::uint64_t>(time_ns - time_));
    time_ = time_ns;
    append_number(packet_, sequence_id, sequence_);
    append_bytes(packet_, track_event, event);
    if (!definitions.empty()) append_bytes(packet_, interned_data, definitions);
    append_number(packet_, sequence_flags, needs_state);
    add_packet();
  }

  void add_packet() {
    append_bytes(out_, packet, packet_);
    if (out_.size() < enough_to_write) return;
    file_.write(out_);
    out_.clear();
  }

  // ---- spans -----------------------------------------------------------------------------------

  void write_process(const TraceProcess& process) {
    const auto group = describe_process(process.name, process.alike);
    if (flows_) arrows_.connect(process.rank);
    for (const auto& lane : process.lanes) {
      begin_sequence(describe_track(group, lane.name));
      write_lane(lane);
    }
    if (process.shows_memory) write_memory(group, process.rank);
  }

  void write_lane(const TraceProcess::Lane& lane) {
    std::string ending;
    append_number(ending, event_type, end);
    for (const auto& span : lane.spans) {
      const bool takes_time = span.start_ns < span.end_ns;
      const auto number = text_.phrase(span.op);
      if (number == phrases_.size()) phrases_.push_back(encoded(text_.words(span.op)));
      auto& phrase = phrases_[number];
      event_.clear();
      append_number(event_, event_type, takes_time ? begin : instant);
      // Fields that differ from span to span come together, so that the rest compresses well.
      append_count(op_key_, text_.number(span));
      append_count(microbatch_key_, text_.microbatch(span));
      event_ += phrase.event;
      if (flows_ && takes_time && arrows_.on_lane(span.op, lane.stream)) {
        for (const auto id : arrows_.leaving(text_.number(span)))
          append_fixed64(event_, flow_ids, static_cast<std::uint64_t>(id));
        for (const auto id : arrows_.arriving(text_.number(span)))
          append_fixed64(event_, terminating_flow_ids, static_cast<std::uint64_t>(id));
      }
      definitions_.clear();
      if (std::exchange(phrase.sequence, sequence_) != sequence_) {
        for (const auto& [kind, string] : phrase.strings) strings_[kind].define(string, definitions_);
      }
      add_event(span.start_ns, event_, definitions_);
      if (takes_time) add_event(span.end_ns, ending);
    }
  }

  /// A whole number among the arguments of the present event.
  void append_count(std::uint64_t key, std::int64_t value) {
    annotation_.clear();
    append_number(annotation_, annotation_name_iid, key);
    append_number(annotation_, int_value, static_cast<std::uint64_t>(value));
    append_bytes(event_, debug_annotations, annotation_);
  }

  Phrase encoded(const OpWords& words) {
    Phrase phrase{{}, {{keys, op_key_}, {keys, microbatch_key_}}};
    const auto use = [&](StringKind kind, std::string_view text) {
      phrase.strings.emplace_back(kind, strings_[kind].number_of(text));
      return phrase.strings.back().second;
    };
    for (const auto& category : words.categories) append_number(phrase.event, category_iids, use(categories, category));
    append_number(phrase.event, name_iid, use(names, words.name));
    for (const auto& [key, value, told] : words.arguments) {
      if (told) continue;  // a third of the file
      annotation_.clear();
      append_number(annotation_, annotation_name_iid, use(keys, key));
      if (const auto* whole = std::get_if<std::int64_t>(&value))
        append_number(annotation_, int_value, static_cast<std::uint64_t>(*whole));
      if (const auto* real = std::get_if<double>(&value)) append_double(annotation_, double_value, *real);
      if (const auto* text = std::get_if<std::string_view>(&value))
        append_number(annotation_, string_value_iid, use(values, *text));
      append_bytes(phrase.event, debug_annotations, annotation_);
    }
    return phrase;
  }

  // ---- counters --------------------------------------------------------------------------------

  void write_memory(std::uint64_t group, std::int32_t rank) {
    const auto points = content_.memory(rank);
    std::string bytes;
    append_number(bytes, unit, unit_bytes);
    const auto write = [&](const std::string& name, auto size_of) {
      begin_sequence(describe_track(group, name, bytes));
      std::optional<std::int64_t> last;
      for (const auto& [time, point] : points) {
        const auto value = size_of(point).value();
        if (last == value) continue;
        last = value;
        event_.clear();
        append_number(event_, event_type, counter);
        append_number(event_, counter_value, static_cast<std::uint64_t>(value));
        add_event(time, event_);
      }
    };
    write("memory", [](const metrics::MemoryPoint& point) { return point.total(); });
    for (const auto kind : workloads::all_memory_kinds) {
      const bool empty = std::all_of(points.begin(), points.end(),
                                     [&](const auto& point) { return point.second.of(kind).value() == 0; });
      if (!empty)
        write("memory: " + std::string(lockstep::workloads::name(kind)),
              [kind](const metrics::MemoryPoint& point) { return point.of(kind); });
    }
  }

  void write_links() {
    const auto links = content_.links();
    if (links.empty()) return;
    const auto group = describe_process("links", "");
    std::string percent;
    append_bytes(percent, unit_name, "% of bandwidth");
    for (const auto& link : links) {
      begin_sequence(describe_track(group, link.name, percent));
      for (std::size_t part = 0; part < link.share.size(); ++part) {
        if (part > 0 && link.share[part] == link.share[part - 1]) continue;
        event_.clear();
        append_number(event_, event_type, counter);
        append_double(event_, double_counter_value, 100 * link.share[part]);
        add_event(nanoseconds(step_time_ * (static_cast<double>(part) / static_cast<double>(link.share.size()))),
                  event_);
      }
    }
  }

  enum StringKind : std::size_t { categories, names, keys, values };
  static constexpr std::uint64_t descriptors = 1;  // the sequence of track descriptors

  GzipFile file_;
  TraceContent content_;
  Seconds step_time_;
  OpText text_;
  TraceArrows arrows_;
  bool flows_;
  std::array<Strings, 4> strings_{Strings(1), Strings(2), Strings(3),
                                  Strings(29)};  ///< by StringKind; fields of InternedData
  const std::uint64_t op_key_ = strings_[keys].number_of("op"),
                      microbatch_key_ = strings_[keys].number_of("microbatch");
  std::vector<Phrase> phrases_;  ///< by number
  std::uint64_t processes_ = 0, tracks_ = 0, order_ = 0, sequence_ = descriptors;
  std::int64_t time_ = 0;                                        ///< of the last event of the sequence
  std::string out_, packet_, event_, annotation_, definitions_;  ///< kept only to save allocations
};

}  // namespace

void write_perfetto_trace(output::NewFiles& files, const std::filesystem::path& place,
                          const scenario::Scenario& scenario, const Simulation& simulation,
                          const TraceOptions& options) {
  auto& file = files.open(place);
  PerfettoTrace(file, simulation, options).write(scenario);
  file.close();
}

}  // namespace lockstep::trace
