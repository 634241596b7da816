// List scheduling. A piece should have left an arc so early that the arcs after it can still end with those of all
// other trees, one period after those of the piece before: its date is its number less the time of the longest way that
// is left. Every arc takes the piece with the earliest date of those that have arrived.
#include "sim/collectives/design/move_order.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

namespace lockstep::collectives::design {
namespace {

/// The way of a strand's pieces over one arc. Times are periods: what an arc takes for a piece of all its trees.
struct Hop {
  int arc = 0;
  bool up = false;
  int awaits = 0;  ///< hops before it
  std::vector<std::int32_t> next{};
  double time = 0;
  double tail = 0;  ///< from its end to that of the last hop that waits for it
};

struct Ready {
  double date;
  std::int32_t piece, strand, hop;
  /// The first of a heap is the largest.
  friend bool operator<(const Ready& a, const Ready& b) {
    return std::tie(a.date, a.piece, a.strand, a.hop) > std::tie(b.date, b.piece, b.strand, b.hop);
  }
};

struct Arc {
  int from, to;
  int trees = 0;
  bool is_busy = false;
  Ready current{};
  std::priority_queue<Ready> ready{};
};

struct End {
  double time;
  int arc;
  friend bool operator<(const End& a, const End& b) { return std::tie(a.time, a.arc) > std::tie(b.time, b.arc); }
};

class Ordering {
 public:
  Ordering(const std::vector<Strand>& strands, int pieces) : pieces_(pieces) {
    for (const auto& strand : strands) hops_.push_back(hops_of(strand));
    for (std::size_t strand = 0; strand < strands.size(); ++strand) {
      auto& hops = hops_[strand];
      for (auto& hop : hops) hop.time = static_cast<double>(strands[strand].count) / arcs_[position_of(hop.arc)].trees;
      for (auto hop = hops.rbegin(); hop != hops.rend(); ++hop) {
        for (const auto next : hop->next)
          hop->tail = std::max(hop->tail, hops[position_of(next)].time + hops[position_of(next)].tail);
      }
    }
  }

  std::vector<StrandMove> moves() {
    for (std::int32_t strand = 0; std::cmp_less(strand, hops_.size()); ++strand) {
      const auto& hops = hops_[position_of(strand)];
      auto& awaits = awaits_.emplace_back();
      for (std::int32_t hop = 0; std::cmp_less(hop, hops.size()); ++hop) {
        awaits.emplace_back(position_of(pieces_), hops[position_of(hop)].awaits);
        for (int piece = 0; piece < pieces_ && hops[position_of(hop)].awaits == 0; ++piece) arrive(strand, hop, piece);
      }
    }
    for (int arc = 0; std::cmp_less(arc, arcs_.size()); ++arc) start(arc, 0);
    while (!ends_.empty()) end_at(ends_.top().time);
    return std::move(moves_);
  }

 private:
  int arc_of(int from, int to, int trees) {
    const auto [known, is_new] = number_.try_emplace({from, to}, static_cast<int>(arcs_.size()));
    if (is_new) arcs_.push_back({from, to});
    arcs_[position_of(known->second)].trees += trees;
    return known->second;
  }

  std::vector<Hop> hops_of(const Strand& strand) {
    const auto members = (strand.down != nullptr ? strand.down : strand.up)->arcs.size() + 1;
    std::vector<Hop> hops;
    std::vector<std::vector<std::int32_t>> into(members);  // what a member waits for
    const auto add = [&](int from, int to, bool up) {
      const auto number = static_cast<std::int32_t>(hops.size());
      Hop hop{arc_of(from, to, strand.count), up};
      for (const auto before : into[position_of(from)]) {
        hops[position_of(before)].next.push_back(number);
        ++hop.awaits;
      }
      hops.push_back(std::move(hop));
      return number;
    };
    if (strand.up != nullptr) {
      for (auto arc = strand.up->arcs.rbegin(); arc != strand.up->arcs.rend(); ++arc)
        into[position_of(arc->from)].push_back(add(arc->to, arc->from, true));
    }
    if (strand.down != nullptr) {
      for (const auto& arc : strand.down->arcs) into[position_of(arc.to)] = {add(arc.from, arc.to, false)};
    }
    return hops;
  }

  void arrive(std::int32_t strand, std::int32_t hop, std::int32_t piece) {
    const auto& own = hops_[position_of(strand)][position_of(hop)];
    arcs_[position_of(own.arc)].ready.push({piece - own.tail, piece, strand, hop});
  }

  void start(int number, double now) {
    auto& arc = arcs_[position_of(number)];
    if (arc.is_busy || arc.ready.empty()) return;
    arc.current = arc.ready.top();
    arc.ready.pop();
    arc.is_busy = true;
    const auto& hop = hops_[position_of(arc.current.strand)][position_of(arc.current.hop)];
    moves_.push_back({arc.current.strand, arc.current.piece, hop.up, arc.from, arc.to});
    ends_.push({now + hop.time, number});
  }

  /// All that ends now arrives before an arc chooses.
  void end_at(double now) {
    constexpr double rounding = 1e-9;
    std::vector<int> arcs;
    while (!ends_.empty() && ends_.top().time <= now + rounding) {
      auto& arc = arcs_[position_of(ends_.top().arc)];
      arcs.push_back(ends_.top().arc);
      ends_.pop();
      arc.is_busy = false;
      const auto strand = arc.current.strand, piece = arc.current.piece;
      const auto& hops = hops_[position_of(strand)];
      for (const auto next : hops[position_of(arc.current.hop)].next) {
        if (--awaits_[position_of(strand)][position_of(next)][position_of(piece)] > 0) continue;
        arrive(strand, next, piece);
        arcs.push_back(hops[position_of(next)].arc);
      }
    }
    std::sort(arcs.begin(), arcs.end());
    for (const int arc : arcs) start(arc, now);
  }

  int pieces_;
  std::map<std::pair<int, int>, int> number_;
  std::vector<Arc> arcs_;
  std::vector<std::vector<Hop>> hops_;                 ///< by strand, in an order in which they can run
  std::vector<std::vector<std::vector<int>>> awaits_;  ///< by strand, hop and piece
  std::priority_queue<End> ends_;
  std::vector<StrandMove> moves_;
};

/// The trees of a pass, one after the other.
struct Cursor {
  const std::vector<BroadcastTree>* trees;
  std::size_t tree = 0;
  int used = 0;

  [[nodiscard]] const BroadcastTree& now() const { return (*trees)[tree]; }
  [[nodiscard]] int left() const { return now().copies - used; }
  void take(int count) {
    used += count;
    if (left() > 0) return;
    ++tree;
    used = 0;
  }
};

}  // namespace

std::vector<Strand> strands_of(const Design& design, bool up, bool down) {
  constexpr int most_trees = 72;  // MSCCL_MAX_COUNT
  std::vector<Strand> strands;
  Cursor ups{&design.reduce.trees}, downs{&design.gather.trees};
  const auto& trees_of = (down ? design.gather : design.reduce).trees_of;
  for (int root = 0; std::cmp_less(root, trees_of.size()); ++root) {
    for (int first = 0; first < trees_of[position_of(root)]; first += strands.back().count) {
      Strand strand{root, first, most_trees};
      if (up) {
        strand.up = &ups.now();
        strand.count = std::min(strand.count, ups.left());
      }
      if (down) {
        strand.down = &downs.now();
        strand.count = std::min(strand.count, downs.left());
      }
      if (up) ups.take(strand.count);
      if (down) downs.take(strand.count);
      strands.push_back(strand);
    }
  }
  return strands;
}

std::vector<StrandMove> moves_in_order(const std::vector<Strand>& strands, int pieces) {
  return Ordering(strands, pieces).moves();
}

}  // namespace lockstep::collectives::design
