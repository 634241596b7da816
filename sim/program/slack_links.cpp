#include "sim/program/slack_links.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>

#include "sim/program/flows_private.hpp"

namespace lockstep::program {
namespace {

constexpr double rounding = 1e-12;
constexpr std::int32_t none = -1;

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

class SlackLinks {
 public:
  explicit SlackLinks(const Program& program)
      : program_(program), crossed_(program.links.size(), false), times_(program.links.size(), 0) {
    for_each_flow(program, [&](const collectives::Flow& flow) {
      for (const auto link : flow.links) crossed_[at(link)] = true;
    });
  }

  std::vector<bool> run() {
    std::vector<bool> slack(program_.links.size(), false);
    const auto& capacities = program_.links;
    if (std::adjacent_find(capacities.begin(), capacities.end(), std::not_equal_to<>()) == capacities.end())
      return slack;
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

  /// Whether `one` may limit `other`.
  [[nodiscard]] bool comes_first(std::int32_t one, std::int32_t other) const {
    return program_.links[at(one)] < program_.links[at(other)];
  }

  [[nodiscard]] std::vector<bool> slack_by_limiters(bool after, const std::vector<bool>& known) {
    std::vector<bool> limited(program_.links.size());
    for (std::size_t link = 0; link < limited.size(); ++link) limited[link] = crossed_[link] && !known[link];
    for_each_flow(program_, [&](const collectives::Flow& flow) {
      if (!crosses_any(flow, limited)) return;
      find_limiters(flow, after);
      for (std::size_t i = 0; i < flow.links.size(); ++i) {
        if (limiters_[i] == none) limited[at(flow.links[i])] = false;
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

  [[nodiscard]] static bool crosses_any(const collectives::Flow& flow, const std::vector<bool>& links) {
    return std::any_of(flow.links.begin(), flow.links.end(), [&](auto link) { return links[at(link)]; });
  }

  /// By link: the sum over its limiters.
  [[nodiscard]] std::vector<double> demands(const std::vector<Limited>& all) const {
    const auto links = program_.links.size();
    std::vector<std::size_t> end(links + 1, 0);
    for (const auto& one : all) ++end[at(one.link) + 1];
    for (std::size_t link = 0; link < links; ++link) end[link + 1] += end[link];
    std::vector<const Limited*> by_link(all.size());
    auto next = end;
    for (const auto& one : all) by_link[next[at(one.link)]++] = &one;
    std::vector<double> demand(links, 0.0), ratio(links, 0.0);
    std::vector<std::int32_t> limiters;
    for (std::size_t link = 0; link < links; ++link) {
      limiters.clear();
      for (auto i = end[link]; i < end[link + 1]; ++i) {
        auto& most = ratio[at(by_link[i]->limiter)];
        if (most == 0) limiters.push_back(by_link[i]->limiter);
        most = std::max(most, by_link[i]->ratio);
      }
      for (const auto limiter : limiters) {
        demand[link] += ratio[at(limiter)] * program_.links[at(limiter)].value();
        ratio[at(limiter)] = 0;
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
  void add(const collectives::Flow& flow, bool after, const std::vector<bool>& limited, std::vector<Limited>& all) {
    if (!crosses_any(flow, limited)) return;
    find_limiters(flow, after);
    for (const auto link : flow.links) ++times_[at(link)];
    own_.clear();
    for (std::size_t i = 0; i < flow.links.size(); ++i) {
      const auto link = flow.links[i];
      if (!limited[at(link)]) continue;
      const Limited one{link, limiters_[i], 1 / static_cast<double>(times_[at(limiters_[i])])};
      (times_[at(link)] == 1 ? all : own_).push_back(one);
    }
    std::sort(own_.begin(), own_.end());
    for (std::size_t i = 0; i < own_.size();) {
      auto one = own_[i];
      one.ratio = 0;
      for (; i < own_.size() && own_[i].goes_with(one); ++i) one.ratio += own_[i].ratio;
      all.push_back(one);
    }
    for (const auto link : flow.links) times_[at(link)] = 0;
  }

  const Program& program_;
  std::vector<bool> crossed_;                   ///< by link: some flow crosses it
  std::vector<std::int32_t> limiters_, stack_;  ///< of the flow that is looked at
  std::vector<std::int32_t> times_;             ///< by link: how often that flow crosses it
  std::vector<Limited> own_;                    ///< its crossings of links that it crosses more than once
};

}  // namespace

std::vector<bool> slack_links(const Program& program) { return SlackLinks(program).run(); }

}  // namespace lockstep::program
