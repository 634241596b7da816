// The module: HTTP by cpp-httplib, whose libraries the program loads for `lockstep explore` alone.
#include <httplib.h>
#include <sys/socket.h>

#include <chrono>
#include <mutex>

#include "tools/explore/http_module.hpp"

namespace lockstep::explore {
namespace {

constexpr std::size_t most_bytes = 1 << 20;  // of a question

/// In a time that does not depend on where they differ.
bool equal(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned differ = 0;
  for (std::size_t i = 0; i < a.size(); ++i) differ |= static_cast<unsigned>(a[i]) ^ static_cast<unsigned>(b[i]);
  return differ == 0;
}

/// Whether a request is for this server by an address that nobody else can have.
bool is_own_host(const httplib::Request& request, int port) {
  const auto host = request.get_header_value("Host");
  return host == "127.0.0.1:" + std::to_string(port) || host == "localhost:" + std::to_string(port);
}

/// A browser names the origin of the page that asks; other programs name none.
bool is_own_origin(const httplib::Request& request) {
  return !request.has_header("Origin") ||
         request.get_header_value("Origin") == "http://" + request.get_header_value("Host");
}

void refuse(httplib::Response& response, const char* why) {
  response.status = 403;
  response.set_content(std::string(why) + "\n", "text/plain");
}

}  // namespace
}  // namespace lockstep::explore

using namespace lockstep::explore;

extern "C" bool lockstep_serve(const Site& site, int port, const std::function<void(int port)>& ready) {
  httplib::Server server;
  std::mutex one_at_a_time;
  server.set_payload_max_length(most_bytes);
  server.set_read_timeout(std::chrono::seconds(3));  // who sends nothing holds no thread for long
  server.new_task_queue = [] { return new httplib::ThreadPool(64); };
  server.set_default_headers({{"Cache-Control", "no-store"},
                              {"X-Content-Type-Options", "nosniff"},
                              {"X-Frame-Options", "DENY"},
                              {"Referrer-Policy", "no-referrer"}});
  // Without SO_REUSEPORT, which the library sets by default and with which a second server would share the port.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  int bound = 0;
  server.set_pre_routing_handler([&](const httplib::Request& request, httplib::Response& response) {
    const bool asks = request.method != "GET";  // before its body is read
    if (!is_own_host(request, bound) || !is_own_origin(request)) {
      refuse(response, "not for this server");
    } else if (asks && !equal(request.get_header_value("X-Lockstep-Token"), site.token)) {
      refuse(response, "the token is missing or wrong");
    } else {
      return httplib::Server::HandlerResponse::Unhandled;
    }
    return httplib::Server::HandlerResponse::Handled;
  });
  server.Get("/", [&](const httplib::Request&, httplib::Response& response) {
    response.set_content(site.page, "text/html; charset=utf-8");
  });
  server.Post("/answer", [&](const httplib::Request& request, httplib::Response& response) {
    const std::lock_guard lock(one_at_a_time);
    response.set_content(site.answer_of(request.body), "application/json");
  });
  if (port == 0) {
    bound = server.bind_to_any_port("127.0.0.1");
  } else if (server.bind_to_port("127.0.0.1", port)) {
    bound = port;
  }
  if (bound <= 0) return false;
  ready(bound);
  server.listen_after_bind();
  return true;
}
