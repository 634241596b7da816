#include "sim/program/slack_links.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "sim/program/flows_private.hpp"

namespace lockstep::program {
namespace {

constexpr double rounding = 1e-12;
constexpr std::int32_t none = -1;

class SlackLinks {
 public:
  explicit SlackLinks(const Program& program)
      : program_(program), crossed_(program.links.size(), false), times_(program.links.size(), 0) {
    for_each_flow(program, [&](const collectives::Flow& flow) {
      for (const auto link : flow.links) crossed_[link] = true;
    });
  }

  SomeLinks run() {
    SomeLinks slack(program_.links.size(), false);
    if (all_alike()) return slack;
    for (const bool after : {false, true}) {
      const auto more = slack_by_limiters(after, slack);
      for (std::size_t link = 0; link < slack.size(); ++link) slack[link] = slack[link] || more[link];
    }
    return slack;
  }

 private:
  /// A link with its limiter, for one crossing of one flow or for all.
  struct Limited {
    std::int32_t link, limiter;
    double ratio;
    [[nodiscard]] bool goes_with(const Limited& other) const { return link == other.link && limiter == other.limiter; }
    friend bool operator<(const Limited& a, const Limited& b) {
      return a.link != b.link ? a.link < b.link : a.limiter < b.limiter;
    }
  };

  /// Whether all links that flows cross have one capacity: none of them can limit another.
  [[nodiscard]] bool all_alike() const {
    std::optional<BytesPerSecond> known;
    for (const auto link : crossed_.ids()) {
      if (!crossed_[link]) continue;
      if (!known) known = program_.links[link];
      if (program_.links[link] != *known) return false;
    }
    return true;
  }

  /// Whether `one` may limit `other`.
  [[nodiscard]] bool comes_first(std::int32_t one, std::int32_t other) const {
    return program_.links[one] < program_.links[other];
  }

  [[nodiscard]] SomeLinks slack_by_limiters(bool after, const SomeLinks& known) {
    SomeLinks limited(program_.links.size());
    for (std::size_t link = 0; link < limited.size(); ++link) limited[link] = crossed_[link] && !known[link];
    for_each_flow(program_, [&](const collectives::Flow& flow) {
      if (!crosses_any(flow, limited)) return;
      find_limiters(flow, after);
      for (std::size_t i = 0; i < flow.links.size(); ++i) {
        if (limiters_[i] == none) limited[flow.links[i]] = false;
      }
    });
    std::vector<Limited> all;
    if (std::none_of(limited.begin(), limited.end(), [](bool one) { return one; })) return limited;
    for_each_flow(program_, [&](const collectives::Flow& flow) { add(flow, after, limited, all); });
    const auto demand = demands(all);
    for (std::size_t link = 0; link < limited.size(); ++link)
      limited[link] = limited[link] && demand[link] <= program_.links[link].value() * (1 + rounding);
    return limited;
  }

  [[nodiscard]] static bool crosses_any(const collectives::Flow& flow, const SomeLinks& links) {
    return std::any_of(flow.links.begin(), flow.links.end(), [&](auto link) { return links[link]; });
  }

  /// By link: the sum over its limiters.
  [[nodiscard]] Indexed<topologies::LinkId, double> demands(const std::vector<Limited>& all) const {
    const auto links = program_.links.size();
    Indexed<topologies::LinkId, std::size_t> end(links + 1, 0);
    for (const auto& one : all) ++end[position_of(one.link) + 1];
    for (std::size_t link = 0; link < links; ++link) end[link + 1] += end[link];
    std::vector<const Limited*> by_link(all.size());
    auto next = end;
    for (const auto& one : all) by_link[next[one.link]++] = &one;
    Indexed<topologies::LinkId, double> demand(links, 0.0), ratio(links, 0.0);
    std::vector<std::int32_t> limiters;
    for (std::size_t link = 0; link < links; ++link) {
      limiters.clear();
      for (auto i = end[link]; i < end[link + 1]; ++i) {
        auto& most = ratio[by_link[i]->limiter];
        if (most == 0) limiters.push_back(by_link[i]->limiter);
        most = std::max(most, by_link[i]->ratio);
      }
      for (const auto limiter : limiters) {
        demand[link] += ratio[limiter] * program_.links[limiter].value();
        ratio[limiter] = 0;
      }
    }
    return demand;
  }

  /// Fills limiters_: for each crossing of the flow its limiter, or none.
  void find_limiters(const collectives::Flow& flow, bool after) {
    const auto count = flow.links.size();
    limiters_.assign(count, none);
    stack_.clear();  // links that may limit those that follow, each before those above it in the order
    for (std::size_t step = 0; step < count; ++step) {
      const auto i = after ? count - 1 - step : step;
      const auto link = flow.links[i];
      while (!stack_.empty() && !comes_first(stack_.back(), link)) stack_.pop_back();
      if (!stack_.empty()) limiters_[i] = stack_.back();
      stack_.push_back(link);
    }
  }

  /// Lists one flow's crossings of links that may be slack, each with its limiter.
  void add(const collectives::Flow& flow, bool after, const SomeLinks& limited, std::vector<Limited>& all) {
    if (!crosses_any(flow, limited)) return;
    find_limiters(flow, after);
    for (const auto link : flow.links) ++times_[link];
    own_.clear();
    for (std::size_t i = 0; i < flow.links.size(); ++i) {
      const auto link = flow.links[i];
      if (!limited[link]) continue;
      const Limited one{link, limiters_[i], 1 / static_cast<double>(times_[limiters_[i]])};
      (times_[link] == 1 ? all : own_).push_back(one);
    }
    std::sort(own_.begin(), own_.end());
    for (std::size_t i = 0; i < own_.size();) {
      auto one = own_[i];
      one.ratio = 0;
      for (; i < own_.size() && own_[i].goes_with(one); ++i) one.ratio += own_[i].ratio;
      all.push_back(one);
    }
    for (const auto link : flow.links) times_[link] = 0;
  }

  const Program& program_;
  SomeLinks crossed_;                                ///< by link: some flow crosses it
  std::vector<std::int32_t> limiters_, stack_;       ///< of the flow that is looked at
  Indexed<topologies::LinkId, std::int32_t> times_;  ///< by link: how often that flow crosses it
  std::vector<Limited> own_;                         ///< its crossings of links that it crosses more than once
};

}  // namespace

SomeLinks slack_links(const Program& program) { return SlackLinks(program).run(); }

}  // namespace lockstep::program
