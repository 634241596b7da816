#include "tests/unit/trace/perfetto_reader.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>

#include "tests/unit/trace/trace_reader.hpp"

namespace lockstep {
namespace {

struct Field {
  std::uint64_t number = 0;  ///< varints and fixed64
  std::string_view bytes;
};

/// A message by its field numbers, each with its values in order.
class Message {
 public:
  explicit Message(std::string_view text) {
    while (!text.empty()) {
      const auto key = varint(text);
      Field field;
      switch (key & 7) {
        case 0: field.number = varint(text); break;
        case 1:
          for (std::size_t byte = 0; byte < 8; ++byte)
            field.number |= std::uint64_t{static_cast<unsigned char>(text.at(byte))} << (8 * byte);
          text.remove_prefix(8);
          break;
        case 2: {
          const auto length = varint(text);
          if (length > text.size()) throw std::runtime_error("a field ends behind its message");
          field.bytes = text.substr(0, length);
          text.remove_prefix(length);
          break;
        }
        default: throw std::runtime_error("a wire type that is not written here");
      }
      fields_[key >> 3].push_back(field);
    }
  }

  [[nodiscard]] bool has(std::uint64_t field) const { return fields_.contains(field); }
  [[nodiscard]] const std::vector<Field>& all(std::uint64_t field) const {
    static const std::vector<Field> none;
    const auto found = fields_.find(field);
    return found == fields_.end() ? none : found->second;
  }
  [[nodiscard]] std::uint64_t number(std::uint64_t field) const { return has(field) ? all(field).front().number : 0; }
  [[nodiscard]] double real(std::uint64_t field) const { return std::bit_cast<double>(number(field)); }
  [[nodiscard]] std::string text(std::uint64_t field) const {
    return has(field) ? std::string(all(field).front().bytes) : "";
  }
  [[nodiscard]] Message message(std::uint64_t field) const {
    return Message(has(field) ? all(field).front().bytes : std::string_view());
  }

 private:
  static std::uint64_t varint(std::string_view& text) {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(text.at(0));
      text.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
  }

  std::map<std::uint64_t, std::vector<Field>> fields_;
};

class Replay {
 public:
  PerfettoRead run(std::string_view whole) {
    const Message trace(whole);
    for (const auto& packet : trace.all(1)) take(Message(packet.bytes));
    for (const auto& [uuid, span] : open_) {
      if (span) fault("a span is never closed: " + span->name);
    }
    return std::move(read_);
  }

 private:
  struct Sequence {
    std::uint64_t track = 0;
    std::int64_t time = 0;
    bool is_incremental = false;
    std::map<std::uint64_t, std::map<std::uint64_t, std::string>> strings;  ///< by field of the definitions and number
  };

  void fault(const std::string& what) { read_.faults.push_back(what); }

  void take(const Message& packet) {
    if (packet.number(10) == 0) fault("a packet without a sequence");
    if (packet.has(60)) describe(packet.message(60));
    auto& sequence = sequences_[packet.number(10)];
    if (packet.number(13) & 1) start(sequence, packet);
    if ((packet.number(13) & 2) && !sequence.is_incremental)
      fault("a packet needs a state that its sequence does not have");
    const auto definitions = packet.message(12);
    for (const std::uint64_t field : {1U, 2U, 3U, 29U}) {
      for (const auto& entry : definitions.all(field)) {
        const Message text(entry.bytes);
        if (!sequence.strings[field].emplace(text.number(1), text.text(2)).second) fault("a string is defined twice");
        const auto [known, is_new] = meanings_[field].emplace(text.number(1), text.text(2));
        if (!is_new && known->second != text.text(2)) fault("a number has two meanings in the file");
        if (text.number(1) == 0) fault("the number 0 is not for strings");
      }
    }
    if (packet.has(11)) event(sequence, packet);
  }

  /// The sequence's clock has to be incremental, and start where the trace's does.
  void start(Sequence& sequence, const Message& packet) {
    sequence = {};
    const auto defaults = packet.message(59);
    sequence.track = defaults.message(11).number(11);
    const auto snapshot = packet.message(6);
    for (const auto& entry : snapshot.all(1)) {
      const Message clock(entry.bytes);
      if (clock.number(2) != 0) fault("a clock that does not start at 0");
      if (clock.number(1) == defaults.number(58) && clock.number(3) == 1) sequence.is_incremental = true;
    }
    if (!sequence.is_incremental) fault("a sequence without a clock of its own");
  }

  void describe(const Message& track) {
    const auto uuid = track.number(1);
    if (uuid == 0) {
      read_.orders_processes = track.number(19) == 1;
      return;
    }
    const auto process = track.message(3);
    const bool is_process = track.has(3);
    PerfettoTrack made{is_process ? process.text(6) : track.text(2),
                       track.number(5),
                       static_cast<std::int64_t>(track.number(12)),
                       is_process,
                       track.has(8),
                       track.number(11) == 3,
                       {},
                       {}};
    if (!is_process && !read_.tracks.contains(made.parent)) fault("a track below one that is not known");
    if (!read_.tracks.emplace(uuid, std::move(made)).second) fault("a track is described twice");
  }

  std::string string(const Sequence& sequence, std::uint64_t field, std::uint64_t number) {
    const auto strings = sequence.strings.find(field);
    if (strings == sequence.strings.end() || !strings->second.contains(number)) {
      fault("a string that the sequence does not define");
      return "";
    }
    return strings->second.at(number);
  }

  void event(Sequence& sequence, const Message& packet) {
    sequence.time += static_cast<std::int64_t>(packet.number(8));
    const auto event = packet.message(11);
    const auto uuid = event.has(11) ? event.number(11) : sequence.track;
    const auto found = read_.tracks.find(uuid);
    if (found == read_.tracks.end()) return fault("an event on a track that is not known");
    auto& track = found->second;
    auto& last = last_[uuid];
    if (sequence.time < last) fault("time goes back");
    last = sequence.time;
    const auto type = event.number(9);
    if ((type == 4) != track.is_counter) return fault("a count that is not on a counter, or something else on one");
    auto& open = open_[uuid];
    if (type == 1 || type == 3) {
      if (open) fault("a span begins inside another");
      PerfettoSpan span{sequence.time, sequence.time, string(sequence, 2, event.number(10)), {}, {}, {}, {}};
      for (const auto& category : event.all(3)) span.categories.push_back(string(sequence, 1, category.number));
      for (const auto& entry : event.all(4)) annotate(sequence, Message(entry.bytes), span);
      for (const auto& flow : event.all(47)) span.leaving.push_back(flow.number);
      for (const auto& flow : event.all(48)) span.arriving.push_back(flow.number);
      if (type == 1) open = span;
      if (type == 3) track.spans.push_back(span);
    } else if (type == 2) {
      if (!open) return fault("an end without a begin");
      open->end_ns = sequence.time;
      if (open->end_ns <= open->start_ns) fault("a span that takes no time");
      track.spans.push_back(*open);
      open.reset();
    } else if (type == 4) {
      if (event.has(30) == event.has(44)) fault("a count without a value, or with two");
      track.counts.emplace_back(sequence.time, event.has(30) ? static_cast<double>(event.number(30)) : event.real(44));
    } else {
      fault("an event of a kind not written here");
    }
  }

  void annotate(const Sequence& sequence, const Message& annotation, PerfettoSpan& span) {
    auto& value = span.arguments[string(sequence, 3, annotation.number(1))];
    if (annotation.has(4)) value = static_cast<std::int64_t>(annotation.number(4));
    if (annotation.has(5)) value = annotation.real(5);
    if (annotation.has(17)) value = string(sequence, 29, annotation.number(17));
  }

  PerfettoRead read_;
  std::map<std::uint64_t, Sequence> sequences_;
  std::map<std::uint64_t, std::int64_t> last_;
  std::map<std::uint64_t, std::optional<PerfettoSpan>> open_;
  std::map<std::uint64_t, std::map<std::uint64_t, std::string>> meanings_;
};

std::vector<const PerfettoTrack*> in_order(std::vector<const PerfettoTrack*> tracks) {
  std::sort(tracks.begin(), tracks.end(), [](const auto* a, const auto* b) { return a->order < b->order; });
  return tracks;
}

}  // namespace

std::vector<const PerfettoTrack*> PerfettoRead::processes() const {
  std::vector<const PerfettoTrack*> result;
  for (const auto& [uuid, track] : tracks) {
    if (track.is_process) result.push_back(&track);
  }
  return in_order(std::move(result));
}

std::vector<const PerfettoTrack*> PerfettoRead::below(std::int64_t process, bool counters) const {
  std::vector<const PerfettoTrack*> result;
  for (const auto& [uuid, track] : tracks) {
    if (!track.is_process && track.is_counter == counters && tracks.at(track.parent).order == process)
      result.push_back(&track);
  }
  return in_order(std::move(result));
}

PerfettoRead read_perfetto(const std::filesystem::path& file) { return Replay().run(gunzip(file)); }

}  // namespace lockstep
