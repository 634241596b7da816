// lockstep explore: what it refuses before it serves.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/cli/program_run.hpp"

namespace lockstep::test {
namespace {

using Explore = CommandLine;

// Another server holds the port, and would share it with every socket that asks for that as it does.
TEST_F(Explore, APortInUseIsRefused) {
  const int held = ::socket(AF_INET, SOCK_STREAM, 0);
  const int yes = 1;
  ASSERT_EQ(::setsockopt(held, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes), 0);
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  ::socklen_t size = sizeof address;
  ASSERT_EQ(::bind(held, reinterpret_cast<::sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(held, 1), 0);
  ASSERT_EQ(::getsockname(held, reinterpret_cast<::sockaddr*>(&address), &size), 0);
  const auto port = std::to_string(::ntohs(address.sin_port));
  const auto refused = run({"explore", small, "--port", port});
  ::close(held);
  if (refused.errors.find("without Node.js") != std::string::npos ||
      refused.errors.find("cannot be loaded") != std::string::npos)
    GTEST_SKIP() << refused.errors;
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, testing::HasSubstr("--port: port " + port + " is in use or not allowed"));
}

}  // namespace
}  // namespace lockstep::test
