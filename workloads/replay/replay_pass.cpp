#include <algorithm>

#include "workloads/replay/replay_private.hpp"

namespace lockstep::workloads {
namespace {

constexpr double longest_operation = 86400;  // seconds

class PassReader {
 public:
  explicit PassReader(ReplayPass pass) : pass_(pass) {}

  ReplayOps read(const YamlView& list) {
    for (const auto& item : list.items()) {
      if (item.expect_map("an operation such as {name: attention, time: 4.4 ms}")) operation(item);
    }
    if (!list.is_list()) return {};
    if (ops_.empty()) {
      list.problem("has no operation", "at least one, such as {name: attention, time: 4.4 ms}");
    } else if (!any_output_) {
      const auto last = std::find_if(ops_.rbegin(), ops_.rend(), [](const ReplayOp& op) { return !op.of_weights; });
      if (last == ops_.rend()) {
        list.problem("has no operation that the layer before waits for", "one without gradient: weights");
      } else {
        last->output = true;
      }
    }
    return std::move(ops_);
  }

 private:
  void operation(const YamlView& item) {
    ReplayOp op;
    const auto name = item.require("name", "what the operation is called");
    if (name.exists()) op.name = word(name);
    if (const auto simulated = item["simulated"]; simulated.exists()) {
      simulate(simulated, op);
    } else {
      times(item, op);
      stream(item, op);
    }
    if (pass_ == ReplayPass::backward) {
      const auto gradient = item["gradient"];
      op.of_weights = gradient.exists() && gradient.choice({"inputs", "weights"}) == 1;
    } else if (const auto holds = item["holds"]; holds.exists()) {
      op.holds = holds.bytes();
    }
    if (const auto output = item["output"]; output.exists()) {
      op.output = output.boolean();
      if (op.output && op.of_weights)
        output.problem("the layer before waits for no gradient of weights", "output at another operation");
      any_output_ = any_output_ || op.output;
    }
    waits(item["after"], op);
    item.refuse_unknown_keys();
    if (index_of(op.name) >= 0)
      name.problem("'" + op.name + "' is there twice", "a name for each operation of the pass");
    ops_.push_back(std::move(op));
  }

  static void times(const YamlView& item, ReplayOp& op) {
    const auto time = item.require("time", "how long it takes, such as 4.37 ms");
    for (const auto& one : time.is_list() ? time.items() : std::vector{time}) {
      op.times.push_back(one.seconds(true));
      if (op.times.back().value() > longest_operation) one.problem("is longer than a day", "the time of one operation");
    }
    if (time.is_list() && op.times.empty()) time.problem("is empty", "a time, or one for each measured layer");
  }

  /// A collective along an axis of the mesh, on the axis' stream.
  static void simulate(const YamlView& view, ReplayOp& op) {
    auto& simulated = op.simulated.emplace();
    if (!view.expect_map("a collective such as {kind: all_to_all, axis: expert, bytes: 235 MB}")) return;
    std::vector<std::string> names;
    for (const auto kind : all_collective_kinds) {
      if (kind != CollectiveKind::point_to_point) names.emplace_back(lockstep::workloads::name(kind));
    }
    const auto kind = view.require("kind", "a collective, such as all_to_all");
    if (kind.exists()) simulated.kind = all_collective_kinds[position_of(kind.choice(names))];
    const auto axis = view.require("axis", "the mesh axis along which it runs");
    if (axis.exists()) simulated.axis = word(axis);
    if (simulated.axis == "pipeline") axis.problem("'pipeline' joins stages, not ranks of a layer", "another axis");
    const auto bytes = view.require("bytes", "the larger buffer of one rank, such as 235 MB");
    if (bytes.exists()) simulated.bytes = bytes.bytes();
    view.refuse_unknown_keys();
    op.stream = simulated.axis;
    op.communicates = true;
  }

  void stream(const YamlView& item, ReplayOp& op) const {
    const auto on = item["on"];
    if (on.exists()) op.stream = word(on);
    if (op.stream == "compute" || op.stream == "pipeline") {
      on.problem("'" + op.stream + "' is taken",
                 op.stream == "compute" ? "no `on` for the compute stream" : "another name");
    }
    op.communicates = on.exists();
    const auto computes = item["computes"];
    if (!computes.exists()) return;
    op.communicates = !computes.boolean() && on.exists();
    if (!on.exists()) computes.problem("has no meaning without `on`", "the stream, as `on`");
  }

  /// By default an operation waits for the last one above it that makes no gradients of weights.
  void waits(const YamlView& names, ReplayOp& op) const {
    if (!names.exists()) {
      int before = ops_.count() - 1;
      while (before >= 0 && ops_[before].of_weights) --before;
      op.after = {before};
      return;
    }
    for (const auto& name : names.is_list() ? names.items() : std::vector{names}) {
      const int before = index_of(name.text());
      if (before < 0) {
        std::vector<std::string> above;
        for (const auto& one : ops_) above.push_back(one.name);
        const auto hint = did_you_mean(name.text(), above);
        name.problem("no operation above is called '" + name.text() + "'",
                     hint.empty() ? "an operation above it in the same pass" : hint);
      } else if (ops_[before].of_weights && !op.of_weights) {
        name.problem("'" + name.text() + "' makes gradients of weights",
                     "an operation that does not, or gradient: weights here too");
      } else {
        op.after.push_back(before);
      }
    }
    if (names.is_list() && names.items().empty()) op.after = {BlockStep::outside};
  }

  static std::string word(const YamlView& view) {
    auto text = view.text();
    if (view.is_scalar() && text.empty()) view.problem("is empty", "a name");
    return text;
  }

  [[nodiscard]] int index_of(const std::string& name) const {
    const auto found = std::find_if(ops_.begin(), ops_.end(), [&](const ReplayOp& op) { return op.name == name; });
    return found == ops_.end() ? -1 : static_cast<int>(found - ops_.begin());
  }

  ReplayPass pass_;
  ReplayOps ops_;
  bool any_output_ = false;
};

}  // namespace

ReplayOps read_replay_pass(const YamlView& list, ReplayPass pass) { return PassReader(pass).read(list); }

}  // namespace lockstep::workloads
