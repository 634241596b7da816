#include "tools/output/files/exit_code.hpp"

#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

#include "sim/core/errors.hpp"
#include "sim/core/visible_text.hpp"
#include "sim/studies/isolated.hpp"
#include "tools/output/files/out_of_room.hpp"

namespace lockstep::output {
namespace {

constexpr int answered_no = 1, user_error = 2, our_bug = 70, machine_is_used_up = 71, disk_is_full = 74;

bool none_left(const std::system_error& error) {
  return error.code() == std::errc::resource_unavailable_try_again || error.code() == std::errc::not_enough_memory;
}

}  // namespace

void tell(std::string_view text) { std::fputs(visible(text, LineFeeds::kept).c_str(), stderr); }

int exit_code_of_error(const std::string& program) {
  const auto told = [&](const std::string& text, int code) {
    tell(text + "\n");
    return code;
  };
  try {
    throw;
  } catch (const AnsweredNo&) {
    return answered_no;
  } catch (const ConfigError& error) {
    return told(error.what(), user_error);
  } catch (const OutOfRoom& error) {
    return told(error.what(), disk_is_full);
  } catch (const studies::OutOfResources& error) {
    return told(program + ": " + error.what(), machine_is_used_up);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: out of memory\n", program.c_str());  // without asking for more
    return machine_is_used_up;
  } catch (const std::system_error& error) {
    if (none_left(error))
      return told(program + ": the system has no thread or memory left: " + error.what(), machine_is_used_up);
    return told(program + ": internal error: " + error.what(), our_bug);
  } catch (const std::exception& error) {
    return told(program + ": internal error: " + error.what(), our_bug);
  }
}

}  // namespace lockstep::output
