#include "tools/explore/server.hpp"

#include <dlfcn.h>

#include <random>

#include "sim/core/errors.hpp"
#include "tools/explore/http_module.hpp"

namespace lockstep::explore {
namespace {

constexpr const char* module_file = LOCKSTEP_HTTP_MODULE;

[[noreturn]] void refuse(const std::string& option, const std::string& what, const std::string& expected) {
  throw ConfigError({{{option, 0, 0}, "", what, expected}});
}

}  // namespace

std::string new_token() {
  std::random_device random;  // the system's, on Linux
  constexpr std::string_view digits = "0123456789abcdef";
  std::string token;
  for (int i = 0; i < 32; ++i) token += digits[random() % digits.size()];
  return token;
}

void serve(const Site& site, int port, const std::function<void(int port)>& ready) {
  void* const module = ::dlopen(module_file, RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr)
    refuse("explore", std::string("the server cannot be loaded: ") + ::dlerror(),
           std::string(module_file) + " beside the program, and Debian's libcpp-httplib0.11");
  void* const found = ::dlsym(module, "lockstep_serve");
  if (found == nullptr) throw InternalError(std::string(module_file) + " is not a module of this program");
  if (!reinterpret_cast<decltype(&lockstep_serve)>(found)(site, port, ready))
    refuse("--port", "port " + std::to_string(port) + " is in use or not allowed", "a free port, or none");
}

}  // namespace lockstep::explore
