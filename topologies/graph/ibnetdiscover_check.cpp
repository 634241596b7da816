#include <algorithm>
#include <set>

#include "topologies/graph/ibnetdiscover_private.hpp"

namespace lockstep::topologies {
namespace {

std::string end_name(const IbRecord& record, int port) {
  return "'" + std::string(record.id) + "' port " + std::to_string(port);
}

/// Finds what contradicts itself or is missing. A port that a problem has named is not looked at again, an unknown
/// speed is named once, and everything that is missing because the dump was cut off is one problem.
class DumpCheck {
 public:
  DumpCheck(const IbDump& dump, NetworkBuilder& builder) : dump_(dump), builder_(builder) {}

  void run() {
    for (const IbRecord& record : dump_.records) {
      for (const IbPort& port : record.ports) {
        if (builder_.gives_up()) return;
        check(record, port);
      }
    }
    tell_what_was_cut_off();
  }

 private:
  void check(const IbRecord& record, const IbPort& port) {
    if (told_.contains(&port)) return;
    if (!port.speed.empty() && !infiniband_rate(port.speed) && !is_cut(port)) {
      told_.insert(&port);
      if (unknown_speeds_.insert(port.speed).second)
        builder_.problem(port.place, "", "'" + std::string(port.speed) + "' is no known speed",
                         "1 to 12 lanes of one of " + infiniband_speeds());
    }
    const auto remote = dump_.by_id.find(port.remote);
    if (remote != dump_.by_id.end()) return check_other_end(record, port, dump_.records[remote->second]);
    told_.insert(&port);
    if (missing_.empty()) first_missing_ = port.place;
    if (missing_.size() < 1000 && seen_missing_.insert(port.remote).second) missing_.emplace_back(port.remote);
  }

  /// Whether the other end of a cable says the same of it.
  void check_other_end(const IbRecord& record, const IbPort& port, const IbRecord& remote) {
    const auto back = std::lower_bound(remote.ports.begin(), remote.ports.end(), port.remote_port,
                                       [](const IbPort& one, int number) { return one.number < number; });
    const std::string cable =
        "the cable from " + end_name(record, port.number) + " to " + end_name(remote, port.remote_port);
    if (back == remote.ports.end() || back->number != port.remote_port) {
      told_.insert(&port);
      if (&remote != &dump_.records.back())
        return builder_.problem(port.place, "", cable + " is missing at its other end",
                                "a line for each end of a cable");
      if (one_sided_++ == 0) first_one_sided_ = port.place;
      return;
    }
    if (told_.contains(&*back)) return;
    if (back->remote != record.id || back->remote_port != port.number) {
      told_.insert(&*back);
      return builder_.problem(port.place, "",
                              cable + " leads elsewhere at its other end, in line " + std::to_string(back->place.line),
                              "two ends that agree");
    }
    if (back->speed == port.speed || told_.contains(&port) || is_cut(port) || is_cut(*back)) return;
    told_.insert(&*back);
    const auto speed = [](const IbPort& of) {
      return of.speed.empty() ? "no speed" : "the speed " + std::string(of.speed);
    };
    builder_.problem(
        port.place, "",
        cable + " has " + speed(port) + " here and " + speed(*back) + " in line " + std::to_string(back->place.line),
        "two ends that agree");
  }

  /// Whether the dump ends in the middle of a port's line, so that its speed means nothing.
  bool is_cut(const IbPort& port) {
    if (port.place.line != dump_.cut_line) return false;
    const bool whole = infiniband_rate(port.speed).has_value();
    if (!whole) line_is_cut_ = true;
    return !whole;
  }

  void tell_what_was_cut_off() {
    const std::string whole = "a whole dump; this one seems to be cut off";
    if (!missing_.empty())
      return builder_.problem(first_missing_, "", "no record of " + some_of(missing_) + ", to which cables lead",
                              whole);
    if (one_sided_ > 0) {
      return builder_.problem(first_one_sided_, "",
                              "the last record, '" + std::string(dump_.records.back().id) + "', lacks " +
                                  counted(one_sided_, "cable") + " that others have to it",
                              whole);
    }
    if (line_is_cut_) builder_.problem({dump_.cut_line, 1}, "", "the dump ends in the middle of a line", whole);
  }

  const IbDump& dump_;
  NetworkBuilder& builder_;
  std::set<const IbPort*> told_;
  std::vector<std::string> missing_;
  std::set<std::string_view> seen_missing_, unknown_speeds_;
  TextPlace first_missing_, first_one_sided_;
  std::size_t one_sided_ = 0;
  bool line_is_cut_ = false;
};

}  // namespace

void check_ib_dump(IbDump& dump, NetworkBuilder& builder) {
  for (IbRecord& record : dump.records) {
    std::stable_sort(record.ports.begin(), record.ports.end(),
                     [](const IbPort& one, const IbPort& other) { return one.number < other.number; });
    for (std::size_t i = 1; i < record.ports.size(); ++i) {
      if (record.ports[i].number == record.ports[i - 1].number)
        builder.problem(record.ports[i].place, "", end_name(record, record.ports[i].number) + " appears twice",
                        "each port once");
    }
  }
  DumpCheck(dump, builder).run();
}

}  // namespace lockstep::topologies
