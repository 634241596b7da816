#include "sim/engine/load_simgrid.hpp"

#include <dlfcn.h>

#include <string>

#include "sim/core/errors.hpp"
#include "sim/engine/simgrid/module.hpp"

namespace lockstep::engine {
namespace {

constexpr const char* module_file = LOCKSTEP_SIMGRID_MODULE;
bool has_made_network = false;

/// Never unloaded: SimGrid's engine lives until the process ends. The system's loader knows what is loaded already.
void* loaded_module() { return ::dlopen(module_file, RTLD_LAZY | RTLD_LOCAL); }

void* module() {
  void* const loaded = loaded_module();
  if (loaded == nullptr) {
    throw ConfigError({{{"simgrid", 0, 0},
                        "",
                        std::string("the engine cannot be loaded: ") + ::dlerror(),
                        std::string(module_file) + " beside the program or where it was built, or --engine max_min"}});
  }
  return loaded;
}

}  // namespace

bool has_simgrid() { return loaded_module() != nullptr; }

void load_simgrid() { (void)module(); }

std::unique_ptr<Network> simgrid_network(const program::Program& program, std::vector<timeline::PhaseSpan>* phases) {
  void* const found = ::dlsym(module(), "lockstep_simgrid_network");
  if (found == nullptr) throw InternalError(std::string(module_file) + " is not a module of this program");
  const auto make = reinterpret_cast<decltype(&lockstep_simgrid_network)>(found);
  has_made_network = true;
  return std::unique_ptr<Network>(make(program, phases));
}

bool simgrid_has_run() { return has_made_network; }

}  // namespace lockstep::engine
