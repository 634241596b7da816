#include "workloads/pipeline/design/local_search.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/core/splitmix64.hpp"
#include "workloads/pipeline/design/word_timing.hpp"

namespace lockstep::workloads {
namespace {

/// The same sequence everywhere.
class Dice {
 public:
  std::int32_t below(std::int64_t count) {
    const auto drawn = splitmix64(std::exchange(state_, state_ + splitmix64_step));
    return static_cast<std::int32_t>(drawn % static_cast<std::uint64_t>(count));
  }

 private:
  std::uint64_t state_ = 1;
};

class Search {
 public:
  Search(const DesignProblem& problem, Words words, double bound)
      : problem_(problem), timing_(problem), words_(std::move(words)), best_(words_), bound_(bound) {}

  Words run(std::int64_t most_letters, const std::function<bool()>* stopped) {
    constexpr std::int64_t steps_between_questions = 64;
    const auto letters = problem_.letters();
    double now = timing_.run(words_);
    double best = now;
    auto path = timing_.critical_path(words_);
    const double most_lost = shares_of_a_work * mean_work();
    const auto steps = most_letters / std::max<std::int64_t>(letters, 1);
    for (std::int64_t step = 0; step < steps && best > bound_ + problem_.tolerance; ++step) {
      if (stopped != nullptr && step % steps_between_questions == 0 && (*stopped)()) break;
      if (!move(path)) continue;
      const double made = timing_.run(words_);
      // The loss that a move may bring falls to nothing, so that the search first wanders and then settles.
      const double may_lose = most_lost * (1 - static_cast<double>(step) / static_cast<double>(steps));
      if (made <= now + may_lose + problem_.tolerance) {
        now = made;
        path = timing_.critical_path(words_);
        if (now < best - problem_.tolerance) {
          best = now;
          best_ = words_;
        }
      } else {
        undo();
      }
    }
    return std::move(best_);
  }

 private:
  static constexpr double shares_of_a_work = 0.3;
  struct Moved {
    StageId rank = 0;
    std::int32_t from = 0, to = 0;
  };

  /// Moves a letter of a block of the longest chain to another place of the block, or behind or before it.
  bool move(const std::vector<WordTiming::Place>& path) {
    const auto at = dice_.below(std::ssize(path));
    const auto place = path[position_of(at)];
    if (!problem_.pairs.empty() && dice_.below(4) == 0) return pair_or_part(place);
    // The block: letters of this rank that follow each other on the chain, which goes back in time.
    auto last = at, first = at;
    while (last > 0 && path[position_of(last - 1)].rank == place.rank && at - last < 40) --last;
    while (first + 1 < std::ssize(path) && path[position_of(first + 1)].rank == place.rank && first - at < 40) ++first;
    const auto& word = words_[place.rank];
    auto low = path[position_of(first)].at, high = path[position_of(last)].at;
    if (dice_.below(4) == 0) {
      low -= dice_.below(4);
      high += dice_.below(4);
    }
    low = std::max(low, 0);
    high = std::min(high, static_cast<std::int32_t>(word.size()) - 1);
    if (low == high) return false;
    std::int32_t to = 0;
    switch (dice_.below(4)) {
      case 0: to = low; break;
      case 1: to = high; break;
      case 2: to = std::clamp(place.at + (dice_.below(2) == 0 ? -1 : 1) * (1 + dice_.below(3)), low, high); break;
      default: to = low + dice_.below(high - low + 1);
    }
    if (to == place.at) return false;
    return apply({place.rank, place.at, to});
  }

  [[nodiscard]] double mean_work() const {
    double sum = 0, count = 0;
    for (const auto& track : problem_.tracks) {
      sum += track.count * (track.forward + track.input_gradient + track.weight_gradient);
      count += 3.0 * track.count;
    }
    return count > 0 ? sum / count : 0;
  }

  static void rotate(Word& word, std::int32_t from, std::int32_t to) {
    const auto at = [&](std::int32_t i) { return word.begin() + i; };
    if (from < to)
      std::rotate(at(from), at(from + 1), at(to + 1));
    else
      std::rotate(at(to), at(from), at(from + 1));
  }

  bool apply(Moved moved) {
    auto& word = words_[moved.rank];
    const auto letter = word[position_of(moved.from)];
    // Letters of one kind keep their order, and so do the works of one track where one needs the other.
    const int step = moved.from < moved.to ? 1 : -1;
    for (auto i = moved.from; i != moved.to; i += step) {
      if (word[position_of(i + step)] == letter) {
        moved.to = i;
        break;
      }
    }
    if (moved.to == moved.from) return false;
    rotate(word, moved.from, moved.to);
    moved_ = moved;
    replaced_.clear();
    if (problem_.fits(moved.rank, word)) return true;
    undo();
    return false;
  }

  /// Puts a forward and the two gradients that are nearest behind or before it into a pair, or takes a pair apart.
  bool pair_or_part(WordTiming::Place place) {
    auto& word = words_[place.rank];
    const auto letter = word[position_of(place.at)];
    auto made = word;
    if (problem_.is_pair(letter)) {
      const auto& pair = problem_.pair(letter);
      Word parts{DesignProblem::letter(pair.backward, TrackWork::input_gradient),
                 DesignProblem::letter(pair.forward, TrackWork::forward),
                 DesignProblem::letter(pair.backward, TrackWork::weight_gradient)};
      if (dice_.below(2) == 0) std::swap(parts[0], parts[1]);
      made.erase(made.begin() + place.at);
      made.insert(made.begin() + place.at, parts.begin(), parts.end());
    } else {
      if (DesignProblem::work_of(letter) == TrackWork::weight_gradient) return false;
      const auto chosen = dice_.below(std::ssize(problem_.pairs));
      const auto& pair = problem_.pairs[position_of(chosen)];
      const bool is_forward = DesignProblem::work_of(letter) == TrackWork::forward;
      if ((is_forward ? pair.forward : pair.backward) != DesignProblem::track_of(letter)) return false;
      const auto other = is_forward ? DesignProblem::letter(pair.backward, TrackWork::input_gradient)
                                    : DesignProblem::letter(pair.forward, TrackWork::forward);
      const auto near = nearest(word, place.at, other);
      if (near < 0) return false;
      const auto gradient = is_forward ? near : place.at;
      const auto weight = std::find(word.begin() + gradient, word.end(),
                                    DesignProblem::letter(pair.backward, TrackWork::weight_gradient));
      if (weight == word.end()) return false;
      auto places = std::array{place.at, near, static_cast<std::int32_t>(weight - word.begin())};
      std::sort(places.begin(), places.end());
      for (auto i = places.size(); i-- > 0;) made.erase(made.begin() + places[i]);
      const auto to = std::min(dice_.below(2) == 0 ? place.at : near, static_cast<std::int32_t>(made.size()));
      made.insert(made.begin() + to, problem_.first_pair() + chosen);
    }
    if (!problem_.fits(place.rank, made)) return false;
    moved_ = {place.rank, 0, 0};
    replaced_ = std::exchange(word, std::move(made));
    return true;
  }

  [[nodiscard]] static std::int32_t nearest(const Word& word, std::int32_t at, Letter letter) {
    constexpr std::int32_t furthest = 20;
    for (std::int32_t away = 1; away <= furthest; ++away) {
      for (const auto to : {at - away, at + away}) {
        if (to >= 0 && to < std::ssize(word) && word[position_of(to)] == letter) return to;
      }
    }
    return -1;
  }

  void undo() {
    if (replaced_.empty())
      rotate(words_[moved_.rank], moved_.to, moved_.from);
    else
      words_[moved_.rank] = std::move(replaced_);
  }

  const DesignProblem& problem_;
  WordTiming timing_;
  Words words_, best_;
  double bound_;
  Dice dice_;
  Moved moved_;
  Word replaced_;  ///< what the last move replaced on its rank, where it did not only move a letter
};

}  // namespace

Words local_search(const DesignProblem& problem, Words words, double bound, std::int64_t most_letters,
                   const std::function<bool()>* stopped) {
  return Search(problem, std::move(words), bound).run(most_letters, stopped);
}

}  // namespace lockstep::workloads
