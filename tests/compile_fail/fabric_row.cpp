// A kind of fabric with every part of its row, less the one that the command line leaves out; see CMakeLists.txt.
#include "topologies/fabrics/fabric_row_private.hpp"

using namespace lockstep;
using namespace lockstep::topologies;

struct Bus {
#ifndef WITHOUT_ROW
  static const FabricRow<Bus>& row();
#endif
};

class BusRow final : public FabricRow<Bus> {
#ifndef WITHOUT_NAME
  std::string_view name() const override { return "bus"; }
#endif
#ifndef WITHOUT_ABOUT
  std::string_view about() const override { return "one wire"; }
#endif
#ifndef WITHOUT_READ
  void read(const YamlView&, Bus&) const override {}
#endif
#ifndef WITHOUT_LIMITS
  std::vector<ClusterProblem> limits(const FabricSpec&, const Bus&) const override { return {}; }
#endif
#ifndef WITHOUT_TOPS
  std::variant<int, ClusterProblem> tops(const FabricSpec&, const Bus&, const EndCount&) const override { return 1; }
#endif
#ifndef WITHOUT_BUILD
  std::unique_ptr<const SwitchNetwork> build(const FabricSpec&, const Bus&, const NetworkEnds&, const std::vector<int>&,
                                             Cluster::Graph&) const override {
    return nullptr;
  }
#endif
};

const BusRow the_row;
const FabricRow<Bus>& row_of_the_kind() { return Bus::row(); }
