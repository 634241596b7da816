#pragma once
/// What the module of cpp-httplib offers to the program, which finds it by name.
#include "tools/explore/server.hpp"

/// As lockstep::explore::serve; false if the port cannot be had.
extern "C" __attribute__((visibility("default"))) bool lockstep_serve(const lockstep::explore::Site& site, int port,
                                                                      const std::function<void(int port)>& ready);
