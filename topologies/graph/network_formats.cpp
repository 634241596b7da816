#include <array>

#include "topologies/graph/network_format_private.hpp"

namespace lockstep::topologies {

extern const NetworkFormat ibnetdiscover_format;
extern const NetworkFormat slurm_conf_format;
extern const NetworkFormat slurm_yaml_format;
extern const NetworkFormat astra_sim_format;
extern const NetworkFormat graph_yaml_format;
extern const NetworkFormat graphml_format;
extern const NetworkFormat edge_list_format;
extern const NetworkFormat simai_format;

std::span<const NetworkFormat> network_formats() {
  static const std::array all{ibnetdiscover_format, slurm_conf_format, slurm_yaml_format, astra_sim_format,
                              graph_yaml_format,    graphml_format,    edge_list_format,  simai_format};
  return all;
}

}  // namespace lockstep::topologies
